// The tab of graphs: one stage at a time, parts of the model folded as wanted, coloured by kind, cost or error.

const COLOURS = ["kind", "cost", "error", "time here"];
const graphTab = {folded: new Map(), layouts: new Map(), pane: null, colour: "kind", stage: null, drawing: 0};
const FOLD_ABOVE = 1500;

// The modules around an op, from the outermost in: the parts of its node's name.
function modulesOf(op) {
  const name = (op.sources || [])[0] || "";
  return name.split(/[/.]/).filter(Boolean).slice(0, -1);
}

function prefixOf(op, depth) {
  const parts = modulesOf(op);
  return parts.length >= depth ? parts.slice(0, depth).join("/") : null;
}

function foldsOf(stage) {
  if (!graphTab.folded.has(stage.name)) graphTab.folded.set(stage.name, {depth: 0, open: new Set(), program: ""});
  return graphTab.folded.get(stage.name);
}

// The ops of a program, and of inputs and outputs that belong to none (as queues do) those that its ops read and give.
function ofProgram(stage, program) {
  const found = new Set(stage.ops.filter((op) => !program || op.function === program));
  for (const op of [...found]) for (const place of op.inputs || []) found.add(stage.ops[place]);
  for (const op of stage.ops) if (op.kind === "output" && !op.function && (op.inputs || []).some((place) => found.has(stage.ops[place]))) found.add(op);
  return found;
}

// Nodes to draw: an op, or all ops of a module that is folded; and edges between them.
function drawn(stage) {
  const fold = foldsOf(stage);
  const nodes = [];
  const nodeOf = new Map();
  const groups = new Map();
  const chosen = ofProgram(stage, fold.program);
  for (const op of stage.ops) {
    if (!chosen.has(op)) continue;
    const prefix = fold.depth ? prefixOf(op, fold.depth) : null;
    if (prefix !== null && !fold.open.has(prefix)) {
      if (!groups.has(prefix)) {
        groups.set(prefix, {prefix, ops: [], width: 190, height: 40});
        nodes.push(groups.get(prefix));
      }
      groups.get(prefix).ops.push(op);
      nodeOf.set(op, groups.get(prefix));
    } else {
      const node = {op, ops: [op], width: op.kind === "op" ? 170 : 130, height: op.kind === "op" ? 40 : 26};
      nodes.push(node);
      nodeOf.set(op, node);
    }
  }
  nodes.forEach((node, at) => (node.at = at));
  const edges = new Map();
  for (const op of stage.ops) {
    const to = nodeOf.get(op);
    for (const place of op.inputs || []) {
      const from = nodeOf.get(stage.ops[place]);
      if (!from || !to || from === to) continue;
      edges.set(`${from.at}>${to.at}`, [from.at, to.at, stage.ops[place].type]);
    }
  }
  return {nodes, edges: [...edges.values()], nodeOf};
}

function graphView(root, state) {
  const stage = doc.stageByName.get(state.stage) || doc.stages[doc.stages.length - 1];
  if (!stage) return add(root, el("p", {class: "quiet", text: "There is no stage to draw."}));
  graphTab.stage = stage;
  const fold = foldsOf(stage);
  const programs = [...new Set(stage.ops.map((op) => op.function).filter(Boolean))];
  if (!fold.program && programs.length > 1) fold.program = programs[0];
  const chosen = stage.ops[state.op];
  if (chosen && chosen.function && programs.length > 1) fold.program = chosen.function;
  if (!fold.begun) {
    fold.begun = true;
    fold.depth = stage.ops.length > FOLD_ABOVE && stage.ops.some((op) => prefixOf(op, 1)) ? 1 : 0;
  }
  if (chosen && fold.depth && prefixOf(chosen, fold.depth)) fold.open.add(prefixOf(chosen, fold.depth));
  const again = () => show({tab: "graph", stage: stage.name});
  add(root, el("div", {class: "bar"},
    chooser("Stage", doc.stages.map((one) => one.name), stage.name, (name) => show({tab: "graph", stage: name, op: null})),
    programs.length > 1 ? chooser("Program", programs, fold.program, (name) => { fold.program = name; again(); }) : null,
    chooser("Fold", ["nothing", "modules", "modules inside modules", "three levels down"], ["nothing", "modules", "modules inside modules", "three levels down"][fold.depth], (name) => {
      fold.depth = ["nothing", "modules", "modules inside modules", "three levels down"].indexOf(name);
      fold.open.clear();
      again();
    }),
    chooser("Colour", COLOURS, graphTab.colour, (name) => { graphTab.colour = name; again(); }),
    el("span", {class: "quiet", id: "graph-size"})));
  drawGraph(root, stage, chosen);
}

async function drawGraph(root, stage, chosen) {
  const turn = (graphTab.drawing += 1);
  const picture = drawn(stage);
  const told = root.querySelector("#graph-size");
  told.textContent = `laying out ${picture.nodes.length} nodes ...`;
  const placed = await layOut(picture.nodes, picture.edges, () => graphTab.drawing === turn);
  if (placed === null) return;
  told.textContent = `${stage.ops.length.toLocaleString("en")} ops, ${picture.nodes.length.toLocaleString("en")} nodes`;
  Object.assign(picture, placed, {chosen, rows: banded(picture.nodes, placed.points, placed.height), paint: colouring(stage)});
  graphTab.picture = picture;
  const pane = new Pane({
    draw: (pen, box, scale) => paintGraph(pen, box, scale, picture),
    box: () => ({x: -placed.width / 2 - 20, y: -20, width: placed.width + 40, height: placed.height + 40}),
    hit: (x, y) => picture.nodes.find((node) => Math.abs(node.x - x) <= node.width / 2 && Math.abs(node.y - y) <= node.height / 2),
    pick: (node) => pickNode(stage, node),
  });
  const node = chosen ? picture.nodeOf.get(chosen) : null;
  pane.start = () => (node ? pane.center(node.x, node.y) : placed.height > 3000 ? startAt(pane, picture.nodes[0]) : pane.fit());
  graphTab.pane = pane;
  add(root, pane.element);
}

// Begin with a node at the top, at a size at which it can be read.
function startAt(pane, node) {
  pane.scale = 0.9;
  pane.x = node.x - pane.canvas.clientWidth / 2 / pane.scale;
  pane.y = node.y - 60;
  pane.request();
}

function pickNode(stage, node) {
  if (node.op) return show({tab: "graph", stage: stage.name, op: node.op.place_in_stage}, {still: true});
  foldsOf(stage).open.add(node.prefix);
  return show({tab: "graph", stage: stage.name});
}

const BAND = 400;

// Nodes and edges by the bands of height that they touch, so that only what is in sight is drawn.
function banded(nodes, points, height) {
  const bands = Array.from({length: Math.ceil(height / BAND) + 2}, () => ({nodes: [], edges: []}));
  const clamp = (y) => Math.min(Math.max(Math.floor(y / BAND), 0), bands.length - 1);
  for (const node of nodes) for (let at = clamp(node.y - node.height); at <= clamp(node.y + node.height); at += 1) bands[at].nodes.push(node);
  points.forEach((line, number) => {
    const heights = line.map((point) => point[1]);
    for (let at = clamp(Math.min(...heights)); at <= clamp(Math.max(...heights)); at += 1) bands[at].edges.push(number);
  });
  return bands;
}

function paintGraph(pen, box, scale, picture) {
  const colours = theme();
  const first = Math.max(Math.floor(box.y / BAND), 0);
  const last = Math.min(Math.floor((box.y + box.height) / BAND), picture.rows.length - 1);
  const edges = new Set();
  const nodes = new Set();
  for (let at = first; at <= last; at += 1) {
    picture.rows[at].edges.forEach((number) => edges.add(number));
    picture.rows[at].nodes.forEach((node) => nodes.add(node));
  }
  for (const number of edges) pen.line(picture.points[number], {stroke: colours.line, thick: Math.max(1, 0.7 / scale)});
  for (const node of nodes) paintNode(pen, node, scale, picture, colours);
}

function paintNode(pen, node, scale, picture, colours) {
  const [x, y] = [node.x - node.width / 2, node.y - node.height / 2];
  const isChosen = picture.chosen && node.ops.includes(picture.chosen);
  const {fill, label} = picture.paint(node, colours);
  pen.box(x, y, node.width, node.height, {fill: colours.raised, stroke: isChosen ? colours.accent : colours.line, thick: isChosen ? 3 : 1, dash: node.op ? null : [5, 3]});
  pen.box(x, y, 6, node.height, {fill});
  if (scale < 0.28) return;
  const op = node.op;
  const title = op ? op.name.replace(/^(nn|tile)\./, "") : `${node.prefix} (${node.ops.length})`;
  pen.text(title, x + 12, y + 16, {fill: colours.ink, bold: true, room: node.width - 18});
  if (node.height < 30) return;
  pen.text(label || shortName(op ? (op.sources || [])[0] : "folded: click to open"), x + 12, y + 32, {fill: colours.quiet, size: 11, room: node.width - 18});
}

// How nodes are coloured: a function from a node to its colour and what its second line says instead of its name.
function colouring(stage) {
  if (graphTab.colour === "kind") return (node, colours) => ({fill: node.op ? kindColour(node.op, colours) : colours.quiet});
  const valueOf = {
    cost: (op) => (op.cost ? op.cost.total : null),
    error: (op) => { const layer = figuresOf(op); return layer ? layer.figures.of_bound : null; },
    "time here": measuredOf,
  }[graphTab.colour];
  const textOf = {cost: (v) => `${numberText(Math.round(v))} cycles`, error: (v) => `${v.toPrecision(2)} of its bound`, "time here": timeText}[graphTab.colour];
  const values = new Map(stage.ops.map((op) => [op, valueOf(op)]).filter(([, value]) => value !== null && value !== undefined));
  const most = graphTab.colour === "error" ? 1 : Math.max(...values.values(), 1e-9);
  return (node, colours) => {
    const found = node.ops.map((op) => values.get(op)).filter((value) => value !== undefined);
    if (!found.length) return {fill: colours.line};
    const value = graphTab.colour === "error" ? Math.max(...found) : found.reduce((a, b) => a + b, 0);
    const share = Math.min(value / most, 1);
    return {fill: share > 0.66 ? colours.bad : share > 0.2 ? colours.k3 : share > 0.05 ? colours.k1 : colours.good, label: textOf(value)};
  };
}

const KINDS = [/matmul|conv|attention|recurrent|lstm|gru/, /eltwise|map|add|mul|sub|div|relu|gelu|sigmoid|tanh|exp|fused/, /softmax|norm|reduce|pool|arg/, /reshape|transpose|concat|slice|pad|splice|gather|broadcast|view/];

function kindColour(op, colours) {
  if (isHost(op)) return colours.bad;
  if (op.kind !== "op") return colours.quiet;
  const at = KINDS.findIndex((pattern) => pattern.test(op.name));
  return colours[`k${at < 0 ? 4 : at}`];
}
