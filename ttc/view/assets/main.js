// The page: tabs, its state in the address, keys, theme, and the beginning of it all.

const TABS = [["graph", "Graph", graphView], ["passes", "Passes", passesView], ["device", "Device", deviceView], ["timeline", "Timeline", timelineView], ["numbers", "Numbers", numbersView], ["other", "Compare", otherView]];
const NUMBERS = ["op", "pass", "epoch"];
let state = {tab: "graph", stage: null, op: null, pass: null, epoch: 0, program: null};

// Change what is shown; the address keeps it, so that a link leads back.  still: the drawing stays, only the details change.
function show(change, {still = false} = {}) {
  const sameTab = change.tab === state.tab;
  state = {...state, ...change};
  if (state.stage === null && doc.stages.length) state.stage = doc.stages[doc.stages.length - 1].name;
  const parts = Object.entries(state).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const address = `#${parts.join("&")}`;
  if (location.hash !== address) history.pushState(null, "", address);
  if (still && sameTab) return showDetails();
  return render();
}

function readAddress() {
  for (const part of location.hash.slice(1).split("&")) {
    const [name, value] = part.split("=");
    if (!(name in state) || value === undefined) continue;
    let text = "";
    try {
      text = decodeURIComponent(value);
    } catch {
      continue;
    }
    state[name] = NUMBERS.includes(name) ? (/^\d{1,9}$/.test(text) ? Number(text) : null) : text;
  }
  if (!TABS.some(([name]) => name === state.tab)) state.tab = "graph";
  if (!doc.stageByName.has(state.stage)) state.stage = doc.stages.length ? doc.stages[doc.stages.length - 1].name : null;
}

function render() {
  const view = document.getElementById("view");
  view.replaceChildren();
  view.className = state.tab;
  document.getElementById("tabs").replaceChildren(...TABS.map(([name, title], at) => button(title, () => show({tab: name}), {role: "tab", "aria-selected": String(name === state.tab), title: `${title} (${at + 1})`})));
  TABS.find(([name]) => name === state.tab)[2](view, state);
  showDetails();
}

function showDetails() {
  const root = document.getElementById("details");
  const stage = doc.stageByName.get(state.stage);
  const op = stage && state.op !== null ? stage.ops[state.op] : null;
  if (op) {
    opDetails(root, op);
    if (state.tab === "graph" && graphTab.picture && graphTab.stage === stage) {
      graphTab.picture.chosen = op;
      graphTab.pane?.request();
    }
    return;
  }
  overview(root);
}

// What the archive is, where nothing is chosen.
function overview(root) {
  const device = doc.device;
  fill(root, heading(doc.title), facts([["Made by", doc.producer], ["Target", device ? device.target : null], ["Epochs", device ? device.epochs.length : null], ["Queues", device ? device.queues.length : null],
    ...doc.programs.filter((program) => program.us).map((program) => [program.name, `${timeText(program.us)}, ${numberText(program.samples_per_second)} samples/s`])]),
    doc.training ? section("Training", pairs(doc.training)) : null,
    ...Object.entries(doc.signatures).map(([name, signature]) => section(`Program ${name}`, table(["", "name", "type"], [...signature.arguments, ...signature.results].map((one) => [one.kind, one.name, one.type]), {most: 60}))),
    section("Options", pairs(doc.options)));
}

const KEYS = [["1 to 6", "the tabs"], ["/", "search"], ["[ and ]", "the epoch or pass before, and the next"], ["+ - 0", "larger, smaller, all of a drawing; arrows move it"], ["s", "the next stage of the chosen op"], ["t", "dark or light"], ["Escape", "nothing chosen"], ["?", "these keys"]];

function help() {
  const dialog = document.getElementById("help");
  dialog.replaceChildren(heading("Keys"), table(["key", "does"], KEYS), button("Close", () => dialog.close()));
  dialog.showModal();
}

function onKey(event) {
  if (event.target.closest("input, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = Number(event.key);
  if (number >= 1 && number <= TABS.length) show({tab: TABS[number - 1][0]});
  else if (event.key === "/") document.getElementById("search").focus();
  else if (event.key === "?") help();
  else if (event.key === "t") switchTheme();
  else if (event.key === "Escape") show({tab: state.tab, op: null});
  else if (event.key === "s") nextStage();
  else if (event.key === "[" || event.key === "]") stepBy(event.key === "]" ? 1 : -1);
  else return;
  event.preventDefault();
}

function stepBy(by) {
  if (state.tab === "passes") show({tab: "passes", pass: Math.min(Math.max((state.pass ?? 0) + by, 0), doc.passes.length - 1)});
  else if (doc.device && doc.device.grid) show({tab: "device", epoch: Math.min(Math.max((Number(state.epoch) || 0) + by, 0), doc.device.epochs.length - 1)});
}

function nextStage() {
  const op = doc.stageByName.get(state.stage)?.ops[state.op];
  if (!op) return;
  const others = counterparts(op);
  const names = doc.stages.map((stage) => stage.name);
  const at = names.indexOf(op.stage);
  for (let step = 1; step < names.length; step += 1) {
    const found = others.get(names[(at + step) % names.length]);
    if (found) {
      const [other] = found;
      show({tab: "graph", stage: other.stage, op: other.place_in_stage});
      return;
    }
  }
}

function switchTheme() {
  const root = document.documentElement;
  const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = dark ? "light" : "dark";
  render();
}

// A live page asks its server whether the dump has grown, and is loaded anew with its state if so.
async function watch() {
  let last = null;
  for (;;) {
    await new Promise((done) => setTimeout(done, 1000));
    try {
      const now = await (await fetch("version")).text();
      if (last !== null && now !== last) location.reload();
      last = now;
    } catch {
      return;
    }
  }
}

async function begin() {
  await readDocument();
  document.getElementById("title").textContent = `${visible(doc.title)}${doc.device ? ` on ${visible(doc.device.target)}` : ""}`;
  document.getElementById("theme").addEventListener("click", switchTheme);
  document.getElementById("keys").addEventListener("click", help);
  document.addEventListener("keydown", onKey);
  window.addEventListener("popstate", () => {
    readAddress();
    render();
  });
  listenToSearch();
  readAddress();
  render();
  document.body.dataset.ready = "yes";
  if (doc.live) watch();
}

begin();
