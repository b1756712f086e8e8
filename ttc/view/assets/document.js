// The document of the page: how it is read, and what is looked up in it.

let doc = null;

async function readDocument() {
  const text = document.getElementById("document").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  doc = JSON.parse(await new Response(stream).text());
  indexDocument();
}

function indexDocument() {
  doc.stageByName = new Map(doc.stages.map((stage) => [stage.name, stage]));
  doc.bySource = new Map();
  doc.placed = new Map();
  for (const stage of doc.stages) {
    stage.ops.forEach((op, place) => {
      op.place_in_stage = place;
      op.stage = stage.name;
      for (const source of op.sources || []) {
        if (!doc.bySource.has(source)) doc.bySource.set(source, []);
        doc.bySource.get(source).push(op);
      }
      if (stage.name === "netlist" && op.id) doc.placed.set(op.id, op);
    });
  }
  doc.layerByNode = new Map(((doc.numbers || {}).layers || []).map((layer) => [layer.node, layer]));
  doc.jobsByOp = new Map();
  for (const job of (doc.profile || {jobs: []}).jobs) {
    job.first = job.op.split(" + ")[0]; // a job may compute several ops: its time counts for the first
    if (!doc.jobsByOp.has(job.first)) doc.jobsByOp.set(job.first, []);
    doc.jobsByOp.get(job.first).push(job);
  }
}

// Ops of all stages that share a node of the model with this one, by stage.
function counterparts(op) {
  const found = new Map();
  for (const source of op.sources || []) {
    for (const other of doc.bySource.get(source) || []) {
      if (other === op) continue;
      if (!found.has(other.stage)) found.set(other.stage, new Set());
      found.get(other.stage).add(other);
    }
  }
  return found;
}

// Remarks of passes about an op: those whose place is one of its nodes, or its own name.
function remarksOf(op) {
  const names = new Set([...(op.sources || []), op.id]);
  const found = [];
  doc.passes.forEach((pass, number) => {
    for (const remark of pass.remarks) {
      if (remark.sources.some((name) => names.has(name))) found.push({pass, number, remark});
    }
  });
  return found;
}

// The figures of the node whose value the op gives: the worst of those that are compared.
function figuresOf(op) {
  let worst = null;
  for (const source of op.sources || []) {
    const layer = doc.layerByNode.get(source);
    if (layer && layer.figures && (!worst || layer.figures.of_bound > worst.figures.of_bound)) worst = layer;
  }
  return worst;
}

// Microseconds that an op's jobs took in the run on this machine; null where nothing was measured.
function measuredOf(op) {
  const jobs = doc.jobsByOp.get(op.id);
  return jobs ? jobs.reduce((sum, job) => sum + job.us, 0) : null;
}

// The text of the IR before and after a pass; before the first one there is none.
function textsOf(number) {
  const pass = doc.passes[number];
  const before = number > 0 ? doc.passes[number - 1].text : pass.text;
  return [doc.texts[before], doc.texts[pass.text]];
}

function isHost(op) {
  return op.place !== undefined && op.place.kind === "host" && doc.device !== null && doc.device.grid !== null;
}

function bytesText(count) {
  const units = ["B", "kB", "MB", "GB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < 3) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toPrecision(3)} ${units[unit]}`;
}

function timeText(microseconds) {
  if (microseconds >= 1e6) return `${(microseconds / 1e6).toPrecision(3)} s`;
  if (microseconds >= 1000) return `${(microseconds / 1000).toPrecision(3)} ms`;
  return `${microseconds.toPrecision(3)} us`;
}

function numberText(value) {
  if (value === null || value === undefined) return "-";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3 ? value.toExponential(2) : value.toPrecision(4);
}

// The last part of a node's name, for places without room.
function shortName(name) {
  const text = name || "";
  return text.length <= 24 ? text : `…${text.slice(-23)}`;
}
