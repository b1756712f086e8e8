// The tab of time: epochs and ops of each program on the device, as estimated, and the jobs of a run on this machine.

const LANE = 20;
const HEAD = 30;
const GUTTER = 120;

const timelineTab = {lanes: "ops"};
const LANE_KINDS = ["ops", "cores", "queues"];

function timelineView(root, state) {
  const names = [...doc.programs.map((program) => program.name), ...(doc.profile ? ["a run on this machine"] : [])];
  if (!names.length) return add(root, el("p", {class: "empty", text: "There is no estimate: the target is this machine. ttc view m.tti --profile measures a run."}));
  const chosen = names.includes(state.program) ? state.program : names[0];
  const program = doc.programs.find((one) => one.name === chosen);
  add(root, el("div", {class: "bar"}, chooser("Program", names, chosen, (name) => show({tab: "timeline", program: name})),
    program ? chooser("Lanes", LANE_KINDS, timelineTab.lanes, (name) => { timelineTab.lanes = name; show({tab: "timeline", program: chosen}); }) : null));
  if (program && program.error) return add(root, el("p", {class: "bad", text: program.error}));
  const lanes = program ? programLanes(program, timelineTab.lanes) : profileLanes(doc.profile);
  add(root, program ? programFacts(program) : el("p", {text: `One run, ${doc.profile.threads} threads; every job is computed by all of them together.`}));
  add(root, lanesPane(lanes, chosen), program ? slowestOps(program) : slowestJobs(doc.profile), rooflinePicture(program ? devicePoints(program) : hostPoints(doc.profile)));
  return null;
}

function lanesPane(lanes, chosen) {
  const length = Math.max(...lanes.map((lane) => lane.bars.reduce((most, bar) => Math.max(most, bar.start + bar.us), 0)), 1e-3);
  const pane = new Pane({
    sideways: true,
    gutter: GUTTER,
    draw: (pen, box, scale) => paintLanes(pen, box, scale, lanes),
    box: () => ({x: 0, y: 0, width: length, height: HEAD + lanes.length * LANE}),
    hit: (x, y) => hitLane(lanes, x, y),
    pick: (bar) => (bar.op ? show({tab: "timeline", stage: bar.op.stage, op: bar.op.place_in_stage, program: chosen}, {still: true}) : bar.queue ? queueDetails(bar.queue) : barDetails(bar)),
  });
  pane.element.classList.add("short");
  pane.element.style.height = `${Math.min(HEAD + lanes.length * LANE + 60, 420)}px`;
  return pane.element;
}

function programFacts(program) {
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  return facts([["Estimate", `${timeText(program.us)} for ${program.samples} sample${program.samples === 1 ? "" : "s"}: ${numberText(program.samples_per_second)} samples/s`],
    ["Switching", `${timeText(program.switch_us)} between ${program.epochs.length} epochs`], ["Host", `${timeText(program.host_us)} of transfers`],
    ["Engines", `work ${percent(program.utilization)} of the time; products at ${percent(program.math_peak)}, DRAM at ${percent(program.dram_peak)} of the best rate`],
    ["Left out", program.left_out ? `${program.left_out} later epochs` : null]]);
}

// A lane for the epochs of each chip, with the share of time in which one runs, then lanes of its ops, its cores or its queues.
function programLanes(program, kind) {
  const chips = [...new Set(program.epochs.flatMap((epoch) => epoch.chips))].sort((a, b) => a - b);
  const lanes = chips.flatMap((chip) => {
    const [bars, busy] = epochBars(program, chip);
    const name = `chip ${chip}: ${((busy / Math.max(program.us, 1e-9)) * 100).toFixed(0)} % busy`;
    return [{name, bars}, ...{ops: opLanes, cores: coreLanes, queues: queueLanes}[kind](program, chip)];
  });
  if (program.host_us) lanes.push({name: "host transfers", bars: [{name: "transfers, overlapped with all of it", start: 0, us: program.host_us, kind: "k3"}]});
  return lanes;
}

function epochBars(program, chip) {
  const bars = [];
  let busy = 0;
  for (const [number, start, us, times] of program.executions) {
    const epoch = program.epochs[number];
    if (!epoch.chips.includes(chip)) continue;
    const begin = start + us - epoch.us;
    if (begin > start) bars.push({name: "switch", start, us: begin - start, kind: "quiet"});
    const told = `${epoch.inputs} microbatches, limited by ${epoch.limit}, slowest ${epoch.slowest}${times > 1 ? `, ${times} times` : ""}`;
    bars.push({name: epoch.graphs.join(", "), start: begin, us: epoch.us, kind: "k0", told});
    busy += epoch.us * times;
  }
  return [bars, busy];
}

// Each op of a chip as a bar, in every execution of its epoch.
function opBars(program, chip) {
  const bars = [];
  for (const [number, start, us] of program.executions) {
    const epoch = program.epochs[number];
    for (const [name, first, last] of epoch.ops) {
      const op = doc.placed.get(name);
      if (op && (op.place.chip || 0) === chip && last > first) bars.push({name, op, start: start + us - epoch.us + first, us: last - first, kind: "k1"});
    }
  }
  return bars;
}

function opLanes(program, chip) {
  const lanes = [];
  for (const bar of opBars(program, chip)) inFreeLane(lanes, bar);
  return lanes.map((bars, at) => ({name: at ? "" : "ops", bars}));
}

function coreLanes(program, chip) {
  const cores = new Map();
  for (const bar of opBars(program, chip)) {
    const {row, col, rows, cols, kind} = bar.op.place;
    if (kind !== "grid") continue;
    for (let r = row; r < row + rows; r += 1) {
      for (let c = col; c < col + cols; c += 1) {
        if (!cores.has(r * 1000 + c)) cores.set(r * 1000 + c, {name: `core ${r},${c}`, bars: []});
        cores.get(r * 1000 + c).bars.push(bar);
      }
    }
  }
  return [...cores].sort((a, b) => a[0] - b[0]).map(([, lane]) => lane);
}

const MOST_QUEUES = 80;

// The largest queues that graphs of the program write and read, for as long as they hold a value.
function queueLanes(program, chip) {
  const spans = program.executions.map(([, start, us]) => [start, start + us]);
  const held = doc.device.queues.filter((queue) => queue.chip === chip && queue.lifetime && queue.lifetime[0] < spans.length);
  const size = (queue) => queue.bytes * Math.max(queue.buffers.length, 1);
  return held.sort((a, b) => size(b) - size(a)).slice(0, MOST_QUEUES).map((queue) => {
    const start = spans[queue.lifetime[0]][0];
    const stop = spans[Math.min(queue.lifetime[1], spans.length - 1)][1];
    return {name: queue.name, bars: [{name: `${queue.name}: ${queue.kind}, ${bytesText(size(queue))}`, queue, start, us: stop - start, kind: "k4"}]};
  });
}

function inFreeLane(lanes, bar) {
  const free = lanes.find((bars) => !bars.length || bars[bars.length - 1].start + bars[bars.length - 1].us <= bar.start + 1e-9);
  if (free) free.push(bar);
  else lanes.push([bar]);
}

function profileLanes(profile) {
  const bars = profile.jobs.map((job) => ({name: `${job.op || job.name} (${job.kernel})`, op: doc.placed.get(job.first), start: job.start_us, us: job.us, kind: "k1", told: `${numberText(job.flops / job.us / 1e3)} GFLOP/s, ${numberText(job.bytes / job.us / 1e3)} GB/s`}));
  return [{name: `all ${profile.threads} threads`, bars}];
}

function paintLanes(pen, box, scale, lanes) {
  const colours = theme();
  const right = box.x + box.width;
  const step = tick(box.width);
  for (let at = Math.ceil(box.x / step) * step; at < right; at += step) {
    const x = GUTTER + (at - box.x) * scale;
    if (x < GUTTER) continue;
    pen.line([[x, HEAD - 8], [x, HEAD + lanes.length * LANE]], {stroke: colours.line});
    pen.text(Math.abs(at) < step / 2 ? "0" : timeText(at), x + 3, 14, {fill: colours.quiet, size: 11});
  }
  lanes.forEach((lane, number) => {
    const y = HEAD + number * LANE - box.y;
    for (const bar of lane.bars) {
      if (bar.start + bar.us < box.x || bar.start > right) continue;
      const x = GUTTER + Math.max((bar.start - box.x) * scale, 0);
      const width = Math.max(GUTTER + (bar.start + bar.us - box.x) * scale - x, 1);
      pen.box(x, y + 2, width, LANE - 4, {fill: colours[bar.kind], stroke: width > 3 ? colours.paper : null});
      if (width > 30) pen.text(bar.name, x + 4, y + 14, {fill: colours.paper, size: 11, room: Math.min(width, box.width * scale) - 6});
    }
    if (lane.name) pen.text(lane.name, 4, y + 14, {fill: colours.ink, size: 11, room: GUTTER - 6});
  });
}

// A round step of which about eight fit.
function tick(span) {
  const rough = span / 8;
  const unit = 10 ** Math.floor(Math.log10(rough));
  return unit * [1, 2, 5, 10].find((times) => times * unit >= rough);
}

function hitLane(lanes, x, y) {
  const lane = lanes[Math.floor((y - HEAD) / LANE)];
  return lane ? lane.bars.find((bar) => bar.start <= x && x <= bar.start + bar.us) || null : null;
}

function barDetails(bar) {
  fill(document.getElementById("details"), heading(bar.name), facts([["Begins", timeText(Math.max(bar.start, 1e-3))], ["Takes", timeText(bar.us)], ["", bar.told]]));
}

// All ops by what they take in the whole run, the slowest first.
function slowestOps(program) {
  const spent = new Map();
  for (const [number, , , times] of program.executions) {
    for (const [name, first, last] of program.epochs[number].ops) spent.set(name, (spent.get(name) || 0) + (last - first) * times);
  }
  const ops = [...spent].map(([name, us]) => [doc.placed.get(name), us]).filter(([op]) => op && op.kind === "op").sort((a, b) => (b[0].cost ? b[0].cost.total : 0) - (a[0].cost ? a[0].cost.total : 0));
  const rows = ops.map(([op, us]) => [op.id, op.name, (op.sources || []).slice(-1)[0] || "", op.cost ? op.cost.total : null, op.cost ? op.cost.limit : "host", timeText(Math.max(us, 1e-3)), op.graph]);
  return el("div", {id: "slowest"}, heading("Slowest ops"), table(["op", "type", "source", "cycles a microbatch", "limit", "active for", "epoch"], rows, {most: 60, onRow: (at) => show({tab: "timeline", stage: "netlist", op: ops[at][0].place_in_stage, program: program.name}, {still: true})}));
}

function slowestJobs(profile) {
  const jobs = [...profile.jobs].sort((a, b) => b.us - a.us);
  const rows = jobs.map((job) => [job.op || job.name, job.kernel, job.sources.slice(-1)[0] || "", timeText(job.us), numberText(job.flops / job.us / 1e3), numberText(job.bytes / job.us / 1e3)]);
  return el("div", {id: "slowest"}, heading("Slowest jobs"), table(["op", "kernel", "source", "time", "GFLOP/s", "GB/s"], rows, {most: 60, onRow: (at) => { const op = doc.placed.get(jobs[at].first); if (op) show({tab: "timeline", stage: "netlist", op: op.place_in_stage, program: "a run on this machine"}, {still: true}); }}));
}
