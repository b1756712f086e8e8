// The tabs of numbers and of comparison: errors by node of the model, and how another archive differs.

function numbersView(root) {
  if (!doc.numbers) {
    return add(root, el("p", {class: "empty", text: "Nothing was compared: ttc view m.tti --check MODEL runs the archive and compares every node with the model's own value."}));
  }
  const layers = doc.numbers.layers.filter((layer) => layer.figures).sort((a, b) => b.figures.of_bound - a.figures.of_bound);
  const off = layers.filter((layer) => !layer.figures.within).length;
  const rows = layers.map((layer) => [layer.node, layer.op, meterOf(layer.figures), layer.figures.max_abs, layer.figures.relative_l2, layer.figures.pcc === null ? "-" : layer.figures.pcc.toFixed(6), layer.figures.within ? "within" : "OUT OF BOUND"]);
  add(root, heading("Errors by node, the largest first"),
    el("p", {text: `${layers.length} nodes compared with ${doc.numbers.against}; ${off ? `${off} out of bound` : "all within bound"}.`}),
    el("p", {}, button("Colour the graph by error", () => { graphTab.colour = "error"; show({tab: "graph", stage: "netlist", op: null}); })),
    table(["node", "op", "of its bound", "max abs", "relative L2", "PCC", ""], rows, {most: 1000, onRow: (at) => showSource([layers[at].node])}));
  const missing = doc.numbers.layers.filter((layer) => !layer.figures);
  if (missing.length) add(root, heading("Not compared"), table(["node", "op", "why"], missing.map((layer) => [layer.node, layer.op, layer.reason])));
}

function meterOf(figures) {
  return el("span", {}, el("meter", {min: 0, max: 1, high: 1, value: Math.min(figures.of_bound, 1), "aria-label": "share of the bound"}), el("span", {text: ` ${numberText(figures.of_bound)}`}));
}

function otherView(root) {
  const other = doc.other;
  if (!other) return add(root, el("p", {class: "empty", text: "There is nothing to compare with: ttc view A.tti B.tti shows how B differs."}));
  add(root, heading(`${doc.title} and ${other.title}`), el("p", {text: other.same ? "There is no difference." : "What the second has otherwise:"}));
  const times = doc.programs.map((program) => [program.name, program.us, (other.programs.find((one) => one.name === program.name) || {}).us]);
  if (times.some(([, a, b]) => a && b)) add(root, heading("Estimated time"), table(["program", "first", "second", "ratio"], times.filter(([, a, b]) => a && b).map(([name, a, b]) => [name, timeText(a), timeText(b), (b / a).toFixed(3)])));
  for (const [title, changes] of [["Changed ops", other.changed], ["Moved ops", other.moved], ["Everything else", other.others]]) {
    const rows = changes.flatMap((change) => Object.entries(change.fields).map(([name, [before, after]]) => [change.item, name, before, after]));
    if (rows.length) add(root, heading(`${title} (${changes.length})`), table(["what", "field", "first", "second"], rows));
  }
  for (const [title, rows] of [["Only in the first", other.removed], ["Only in the second", other.added], ["Fused", other.fused.map(([old, now]) => `${old.join(" + ")} → ${now}`)], ["Split", other.split.map(([old, now]) => `${old} → ${now.join(" + ")}`)]]) {
    if (rows.length) add(root, heading(`${title} (${rows.length})`), table(["op"], rows.map((row) => [row])));
  }
  return null;
}
