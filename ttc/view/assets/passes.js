// The tab of passes: what the pipeline did, pass by pass, with the IR before and after.

const passTab = {all: false, whole: false};

function passesView(root, state) {
  if (!doc.passes.length) {
    return add(root, el("p", {class: "empty", text: "The page was made without a dump of the passes: ttc compile MODEL -o m.tti --dump DIR, then ttc view m.tti --dump DIR."}));
  }
  const chosen = Number.isInteger(state.pass) && doc.passes[state.pass] ? state.pass : Math.max(doc.passes.findIndex((pass) => pass.changed && pass.number > 0), 0);
  const list = el("ol", {class: "passes", role: "listbox", "aria-label": "Passes"});
  let stage = null;
  doc.passes.forEach((pass, number) => {
    if (!passTab.all && !pass.changed && !pass.remarks.length && number !== chosen) return;
    if (pass.stage !== stage) list.append(el("li", {class: "stage", text: (stage = pass.stage)}));
    list.append(passItem(pass, number, number === chosen));
  });
  const toggle = el("label", {class: "choice"}, el("input", {type: "checkbox", checked: passTab.all, on: {change: (event) => { passTab.all = event.target.checked; show({tab: "passes", pass: chosen}); }}}), el("span", {text: "also those that changed nothing"}));
  add(root, el("div", {class: "split"}, el("div", {class: "side"}, toggle, list), passPanel(chosen)));
  requestAnimationFrame(() => list.querySelector("[aria-selected=true]")?.scrollIntoView({block: "nearest"}));
}

function passItem(pass, number, isChosen) {
  const ops = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
  const change = ops(pass.after) - ops(pass.before);
  const told = [pass.ms ? `${pass.ms} ms` : null, pass.changed ? (change ? `${change > 0 ? "+" : ""}${change} ops` : "changed") : "no change", pass.remarks.length ? `${pass.remarks.length} remarks` : null].filter(Boolean).join(", ");
  return el("li", {role: "option", "aria-selected": String(isChosen)}, button(pass.name, () => show({tab: "passes", pass: number})), el("div", {class: "quiet", text: told}));
}

function passPanel(number) {
  const pass = doc.passes[number];
  const kinds = [...new Set([...Object.keys(pass.before), ...Object.keys(pass.after)])].filter((kind) => pass.before[kind] !== pass.after[kind]);
  const panel = el("div", {class: "panel"}, heading(`${pass.stage}: ${pass.name}`));
  if (pass.error) add(panel, el("p", {class: "bad", text: `It failed: ${pass.error}`}));
  const rewrites = Object.entries(pass.rewrites).map(([name, count]) => `${name} ${count}`).join(", ");
  add(panel, facts([["Time", pass.ms ? `${pass.ms} ms` : null], ["Rewrites", rewrites], ["Ops", kinds.map((kind) => `${kind} ${pass.before[kind] || 0} → ${pass.after[kind] || 0}`).join(", ")]]));
  if (pass.remarks.length) {
    add(panel, el("details", {open: pass.remarks.length < 12}, el("summary", {text: `${pass.remarks.length} remarks`}),
      table(["", "node", "remark"], pass.remarks.map((remark) => [remark.kind, remark.sources.join(", "), remark.message]), {onRow: (at) => showSource(pass.remarks[at].sources)})));
  }
  const [before, after] = textsOf(number);
  if (before === after) {
    add(panel, el("p", {class: "quiet", text: number ? "The IR after it is the same as before." : "This is where the compilation starts."}), sideBySide(after.split("\n"), after.split("\n"), true).element);
    return panel;
  }
  const found = sideBySide(before.split("\n"), after.split("\n"), passTab.whole);
  const toggle = el("label", {class: "choice"}, el("input", {type: "checkbox", checked: passTab.whole, on: {change: (event) => { passTab.whole = event.target.checked; show({tab: "passes", pass: number}); }}}), el("span", {text: "also lines without a change"}));
  add(panel, el("div", {class: "bar"}, el("span", {text: `${found.changed.toLocaleString("en")} lines differ (- before, + after; numbers of values are passed over)`}), toggle), found.element);
  return panel;
}

// The op of the last stage that came from one of these nodes.
function showSource(names) {
  for (const one of names) {
    const ops = doc.bySource.get(one);
    if (ops) {
      const op = ops[ops.length - 1];
      return show({tab: "graph", stage: op.stage, op: op.place_in_stage});
    }
    if (doc.placed.has(one)) return show({tab: "graph", stage: "netlist", op: doc.placed.get(one).place_in_stage});
  }
  return null;
}
