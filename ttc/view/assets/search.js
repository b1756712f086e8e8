// The search over everything on the page: ops, nodes, passes, remarks, queues, tensors.

const MOST_FOUND = 60;

function searchFor(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const fits = (...parts) => {
    const all = parts.join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const found = [];
  const take = (kind, label, go) => found.length < MOST_FOUND && found.push({kind, label, go});
  doc.passes.forEach((pass, number) => fits("pass", pass.stage, pass.name) && take("pass", `${pass.stage}: ${pass.name}`, () => show({tab: "passes", pass: number})));
  for (const stage of [...doc.stages].reverse()) {
    for (const op of stage.ops) {
      if (found.length >= MOST_FOUND) return found;
      if (fits(stage.name, op.name, op.id || "", ...(op.sources || []))) take(stage.name, `${op.name}  ${(op.sources || [op.id || ""]).slice(-1)[0] || ""}`, () => show({tab: "graph", stage: stage.name, op: op.place_in_stage}));
    }
  }
  for (const queue of (doc.device || {queues: []}).queues) if (fits("queue", queue.name, queue.kind)) take("queue", queue.name, () => { show({tab: "device"}); queueDetails(queue); });
  doc.passes.forEach((pass, number) => pass.remarks.forEach((remark) => fits("remark", pass.name, remark.message, ...remark.sources) && take("remark", `${pass.name}: ${remark.sources.join(", ")}: ${remark.message}`, () => show({tab: "passes", pass: number}))));
  return found;
}

function listenToSearch() {
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  let found = [];
  let at = 0;
  const close = () => (list.hidden = true);
  const go = (one) => {
    close();
    input.blur();
    one.go();
  };
  const mark = () => [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === at)));
  input.addEventListener("input", () => {
    found = searchFor(input.value);
    at = 0;
    list.replaceChildren(...found.map((one) => el("li", {role: "option", on: {mousedown: (event) => { event.preventDefault(); go(one); }}}, el("span", {class: "tag", text: one.kind}), el("span", {text: one.label}))));
    list.hidden = !found.length;
    mark();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(found.length, 1);
      mark();
      list.children[at]?.scrollIntoView({block: "nearest"});
      event.preventDefault();
    } else if (event.key === "Enter" && found[at]) go(found[at]);
    else if (event.key === "Escape") {
      close();
      input.blur();
    }
    event.stopPropagation();
  });
  input.addEventListener("blur", close);
}
