// What is known of one op: source, shapes, attributes, weights, place, buffers, cost, errors, remarks, history, counterparts.

function opDetails(root, op) {
  fill(root,
    heading(op.name),
    op.kind === "op" ? null : el("p", {class: "quiet", text: op.kind}),
    facts([
      ["Stage", op.stage], ["Program", op.function], ["Name", op.id],
      ["Result", op.type],
      ["Place", placeText(op)], ["Epoch", op.graph],
      ["Estimate", op.cost ? `${numberText(op.cost.total)} cycles a microbatch, limited by ${op.cost.limit}` : null],
      ["Time here", measuredOf(op) === null ? null : timeText(measuredOf(op))],
    ]),
    section("Source", (op.sources || []).length ? el("ul", {}, op.sources.map((name) => el("li", {class: "code", text: name}))) : null),
    section("Operands", listOf((op.inputs || []).map((place) => opLink(doc.stageByName.get(op.stage).ops[place])))),
    section("Attributes", pairs(op.attributes)),
    section("Works inside", listOf((op.body || []).map((line) => el("code", {text: line})))),
    section("Error", errorOf(op)),
    section("Weights", listOf((op.weights || []).map(weightOf))),
    section("Cost by part, in cycles", op.cost ? bars(Object.entries(op.cost.parts)) : null),
    section("Buffers of a core", bufferTable(op)),
    section("Remarks", remarkList(remarksOf(op))),
    section("History of its nodes", historyHolder(op)),
    section("The same in other stages", counterpartList(op)));
}

function facts(rows) {
  return el("dl", {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [el("dt", {text: name}), el("dd", {text: value})]));
}

function section(title, content) {
  return content ? el("section", {}, el("h3", {text: title}), content) : null;
}

function listOf(items) {
  return items.length ? el("ul", {class: "plain"}, items.map((item) => el("li", {}, item))) : null;
}

function pairs(values) {
  const rows = Object.entries(values || {});
  return rows.length ? facts(rows) : null;
}

function placeText(op) {
  const place = op.place;
  if (!place) return null;
  if (place.kind === "host") return "the host";
  if (place.kind === "ethernet") return `an Ethernet core of chip ${place.chip}, to chip ${place.to}`;
  return `chip ${place.chip}, cores from row ${place.row}, column ${place.col}: ${place.rows} x ${place.cols}`;
}

function bars(rows) {
  const most = Math.max(...rows.map(([, value]) => value), 1e-9);
  return el("div", {class: "bars"}, rows.map(([name, value]) => el("div", {class: "row"}, el("span", {text: name}),
    el("meter", {min: 0, max: most, value, "aria-label": name}), el("span", {class: "number", text: numberText(value)}))));
}

function errorOf(op) {
  const layer = figuresOf(op);
  if (!layer) return null;
  const f = layer.figures;
  return facts([["Node", layer.node], ["Max abs", numberText(f.max_abs)], ["Relative L2", numberText(f.relative_l2)], ["PCC", f.pcc === null ? "-" : f.pcc.toFixed(6)],
    ["Of its bound", `${numberText(f.of_bound)}${f.within ? "" : ": OUT OF BOUND"}`], ["Against", doc.numbers.against]]);
}

function weightOf(key) {
  const found = doc.weights[key];
  if (!found) return el("span", {class: "code", text: key});
  const figures = ["min", "max", "mean", "deviation"].filter((name) => name in found).map((name) => `${name} ${numberText(found[name])}`);
  return el("div", {}, el("div", {class: "code", text: key}), el("div", {class: "quiet", text: [found.type, ...figures].join(", ")}), histogram(found));
}

function histogram(found) {
  if (!found.histogram) return null;
  const most = Math.max(...found.histogram, 1);
  const label = `Histogram from ${numberText(found.min)} to ${numberText(found.max)}: ${found.histogram.join(", ")}`;
  return svg("svg", {viewBox: "0 0 240 40", class: "histogram", role: "img", "aria-label": label},
    found.histogram.map((count, at) => svg("rect", {x: at * 10, width: 9, y: 40 - (38 * count) / most, height: (38 * count) / most, class: "filled"})));
}

function bufferTable(op) {
  if (!(op.buffers || []).length || !doc.device) return null;
  const whole = op.buffers.reduce((sum, buffer) => sum + buffer.bytes, 0);
  return el("div", {}, l1Bar(op.buffers), table(["role", "tiles", "copies", "bytes"], op.buffers.map((b) => [b.role, b.tiles, b.copies, bytesText(b.bytes)])),
    el("p", {class: "quiet", text: `${bytesText(whole)} of ${bytesText(doc.device.l1_bytes)} that a core has`}));
}

// A core's L1 to scale, with its buffers from the left.
function l1Bar(buffers) {
  let at = 0;
  const room = Math.max(doc.device.l1_bytes, 1);
  const parts = buffers.map((buffer, number) => {
    const width = (buffer.bytes / room) * 300;
    const part = svg("rect", {x: at, y: 0, width, height: 16, class: `part part${number % 5}`}, svg("title", {text: `${buffer.role}: ${bytesText(buffer.bytes)}`}));
    at += width;
    return part;
  });
  return svg("svg", {viewBox: "0 0 300 16", class: "l1", role: "img", "aria-label": "Buffers in L1, to scale"}, svg("rect", {x: 0, y: 0, width: 300, height: 16, class: "room"}), parts);
}

function remarkList(found) {
  return listOf(found.map(({pass, number, remark}) => el("div", {},
    button(pass.name, () => show({tab: "passes", pass: number}), {class: "op-link"}), el("span", {text: ` ${remark.kind}: ${remark.message}`}))));
}

function counterpartList(op) {
  return listOf([...counterparts(op)].flatMap(([stage, others]) => [...others].slice(0, 12).map((other) => el("div", {}, el("span", {class: "quiet", text: `${stage}: `}), opLink(other)))));
}

// Found when it is asked for: it reads all dumped texts.
function historyHolder(op) {
  if (!doc.texts.length || !(op.sources || []).length) return null;
  const holder = el("div", {});
  setTimeout(() => holder.replaceChildren(listOf(historyOf(op).map(({pass, number, before, after}) => el("div", {},
    button(`${pass.stage}: ${pass.name}`, () => show({tab: "passes", pass: number}), {class: "op-link"}),
    el("span", {text: ` ${before.join(", ") || "nothing"} → ${after.join(", ") || "nothing"}`})))) || el("p", {class: "quiet", text: "no pass changed them"})));
  return holder;
}

// The passes that changed the ops of an op's nodes: the names of these ops before and after.
function historyOf(op) {
  const marks = (op.sources || []).map((name) => JSON.stringify(name));
  const seen = new Map();
  const namesIn = (text) => {
    if (!seen.has(text)) seen.set(text, doc.texts[text].split("\n").filter((line) => /\bloc\(/.test(line) && marks.some((mark) => line.includes(mark))));
    return seen.get(text);
  };
  const found = [];
  doc.passes.forEach((pass, number) => {
    const last = number ? doc.passes[number - 1] : pass;
    if (!pass.changed || last.text === pass.text) return;
    const [before, after] = [namesIn(last.text), namesIn(pass.text)];
    if (before.map(masked).join("\n") === after.map(masked).join("\n")) return;
    found.push({pass, number, before: opNames(before), after: opNames(after)});
  });
  return found;
}

function opNames(lines) {
  const found = lines.map((line) => (line.match(/(?:= |^\s*)((?:nn|tile|netlist|ttc)\.[a-z0-9_]+)/) || [])[1]).filter((name) => name && !name.startsWith("ttc."));
  return [...new Set(found)];
}
