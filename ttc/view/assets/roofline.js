// A roofline: operations a second over operations a byte, both in powers of ten, under what the machine reaches at most.

function devicePoints(program) {
  const perSecond = program.clock_hz;
  const stage = doc.stageByName.get("netlist");
  const points = stage.ops.filter((op) => op.cost && op.cost.flops > 0 && op.cost.total > 0 && op.function === program.name).map((op) => ({
    op, name: op.id, rate: (op.cost.flops * perSecond) / op.cost.total, intensity: op.cost.flops / Math.max(op.cost.dram_bytes, 1)}));
  return {title: "Products of each op, by the bytes that it moves to and from DRAM", points, peak: null, bandwidth: null};
}

function hostPoints(profile) {
  const points = profile.jobs.filter((job) => job.flops > 0 && job.us > 0).map((job) => ({op: doc.placed.get(job.first), name: job.op || job.name, rate: (job.flops / job.us) * 1e6, intensity: job.flops / Math.max(job.bytes, 1)}));
  return {title: "Jobs of the run, under what this machine was measured to reach", points, peak: profile.flops_per_second, bandwidth: profile.bytes_per_second};
}

function rooflinePicture({title, points, peak, bandwidth}) {
  if (!points.length) return null;
  const [width, height] = [640, 300];
  const rates = [...points.map((point) => point.rate), ...(peak ? [peak] : [])].map(Math.log10);
  const xs = points.map((point) => Math.log10(point.intensity));
  const [x0, x1] = [Math.floor(Math.min(...xs)) - 0.2, Math.ceil(Math.max(...xs)) + 0.2];
  const [y0, y1] = [Math.floor(Math.min(...rates)) - 0.2, Math.ceil(Math.max(...rates)) + 0.2];
  const X = (value) => 50 + ((value - x0) / (x1 - x0)) * (width - 60);
  const Y = (value) => height - 30 - ((value - y0) / (y1 - y0)) * (height - 45);
  const marks = [];
  for (let at = Math.ceil(x0); at <= x1; at += 1) marks.push(svg("text", {x: X(at), y: height - 12, class: "small", text: `1e${at}`}), svg("line", {x1: X(at), x2: X(at), y1: Y(y0), y2: Y(y1), class: "rule"}));
  for (let at = Math.ceil(y0); at <= y1; at += 1) marks.push(svg("text", {x: 4, y: Y(at) + 4, class: "small", text: `1e${at}/s`}), svg("line", {x1: X(x0), x2: X(x1), y1: Y(at), y2: Y(at), class: "rule"}));
  if (peak && bandwidth) {
    const knee = Math.log10(peak / bandwidth);
    const start = Math.log10(bandwidth) + x0;
    marks.push(svg("polyline", {class: "roof", points: `${X(x0)},${Y(start)} ${X(Math.min(Math.max(knee, x0), x1))},${Y(Math.log10(peak))} ${X(x1)},${Y(Math.log10(peak))}`}));
  }
  const dots = points.map((point) => svg("circle", {cx: X(Math.log10(point.intensity)), cy: Y(Math.log10(point.rate)), r: 4, class: "dot",
    on: {click: () => point.op && show({tab: state.tab, stage: point.op.stage, op: point.op.place_in_stage}, {still: true})}}, svg("title", {text: `${point.name}\n${numberText(point.rate / 1e9)} GFLOP/s at ${numberText(point.intensity)} FLOP a byte`})));
  return el("figure", {}, el("figcaption", {text: title}), svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "roofline", role: "img", "aria-label": title}, marks, dots));
}
