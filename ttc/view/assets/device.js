// The tab of the device: an epoch's ops on the grid of cores, their buffers in L1, queues in DRAM over epochs, Ethernet, the host.

function deviceView(root, state) {
  const device = doc.device;
  if (!device) return add(root, el("p", {class: "empty", text: "There is no netlist yet."}));
  if (!device.grid) return add(root, el("p", {class: "empty", text: `Target ${device.target} is this machine: it has no grid of cores. Its ops are on the tab Graph, its time on the tab Timeline.`}));
  const at = Math.min(Math.max(Number(state.epoch) || 0, 0), device.epochs.length - 1);
  const epoch = device.epochs[at];
  const step = (by) => show({tab: "device", epoch: Math.min(Math.max(at + by, 0), device.epochs.length - 1)});
  add(root, el("div", {class: "bar"}, button("◀", () => step(-1), {title: "The epoch before ([)"}),
    chooser("Epoch", device.epochs.map((one, number) => `${number}: ${one.name}`), `${at}: ${epoch.name}`, (name) => show({tab: "device", epoch: Number(name.split(":")[0])})),
    button("▶", () => step(1), {title: "The next epoch (])"}),
    el("span", {class: "quiet", text: `chip ${epoch.chip}, ${epoch.ops.length} ops, ${epoch.inputs} microbatch${epoch.inputs === 1 ? "" : "es"}`})));
  add(root, el("div", {class: "columns"}, el("div", {}, heading("Cores"), gridPicture(epoch, state.op), heading("L1 of a core, by op"), l1Table(epoch)),
    el("div", {}, heading("DRAM"), memoryFacts(), dramPicture(at), peakTable(), ethernetTable(), hostTable())));
}

function gridPicture(epoch, chosen) {
  const [rows, cols] = doc.device.grid;
  const size = 56;
  const stage = doc.stageByName.get("netlist");
  const cells = [];
  for (let r = 0; r < rows; r += 1) for (let c = 0; c < cols; c += 1) cells.push(svg("rect", {x: c * size + 1, y: r * size + 1, width: size - 2, height: size - 2, class: "core"}));
  const placed = epoch.ops.map((place) => stage.ops[place]).filter((op) => op.place && op.place.kind === "grid");
  const boxes = placed.map((op, number) => {
    const p = op.place;
    const go = () => show({tab: "device", stage: "netlist", op: op.place_in_stage});
    const label = svg("text", {x: p.col * size + 8, y: p.row * size + 20, text: fitted(op.name, p.cols * size - 12, 13)});
    const name = svg("text", {x: p.col * size + 8, y: p.row * size + 36, class: "small", text: fitted(op.id, p.cols * size - 12, 11)});
    const title = svg("title", {text: `${op.id}\n${op.name} on ${p.rows} x ${p.cols} cores\n${(op.sources || []).join(", ")}`});
    return svg("g", {class: "op", tabindex: 0, role: "button", "aria-label": `${op.id}, ${op.name}`, on: {click: go, keydown: (event) => event.key === "Enter" && go()}},
      svg("rect", {x: p.col * size + 3, y: p.row * size + 3, width: p.cols * size - 6, height: p.rows * size - 6, class: `part part${number % 5}${op.place_in_stage === chosen ? " chosen" : ""}`}), label, name, title);
  });
  return svg("svg", {viewBox: `0 0 ${cols * size} ${rows * size}`, class: "cores", role: "img", "aria-label": `Grid of ${rows} x ${cols} cores`}, cells, boxes);
}

function l1Table(epoch) {
  const stage = doc.stageByName.get("netlist");
  const ops = epoch.ops.map((place) => stage.ops[place]).filter((op) => (op.buffers || []).length);
  const rows = ops.map((op) => [opLink(op, op.id), l1Bar(op.buffers), bytesText(op.buffers.reduce((sum, buffer) => sum + buffer.bytes, 0))]);
  return table(["op", `buffers, of ${bytesText(doc.device.l1_bytes)}`, "bytes"], rows);
}

function memoryFacts() {
  return el("div", {}, doc.device.memory.map((use) => el("p", {text: `Chip ${use.chip}: peak ${bytesText(use.peak_bytes)}, lower bound ${bytesText(use.bound_bytes)}, ${(use.fragmentation * 100).toFixed(1)} % fragmented, room ${bytesText(use.room_bytes)}.`})));
}

function lifeOf(queue) {
  return queue.lifetime || [0, Math.max(doc.device.epochs.length - 1, 0)];
}

// Queues in one chip's channels: across epochs, upwards addresses.
function dramPicture(epoch) {
  const device = doc.device;
  const chip = device.epochs[epoch].chip;
  const use = device.memory.find((one) => one.chip === chip);
  if (!use) return el("p", {class: "quiet", text: `Chip ${chip} holds no queue in its DRAM.`});
  const count = device.epochs.length;
  const [width, height] = [560, 120];
  const base = device.dram_reserved_bytes;
  const most = Math.max(...use.channels.map((channel) => channel.peak_bytes), 1);
  const pictures = use.channels.filter((channel) => channel.peak_bytes > 0).map((channel) => {
    const boxes = [];
    device.queues.forEach((queue, number) => {
      if (queue.chip !== chip) return;
      for (const [ch, address] of queue.buffers) {
        if (ch !== channel.channel) continue;
        const [first, last] = lifeOf(queue);
        const tall = Math.max((queue.bytes / most) * height, 0.4);
        boxes.push(svg("rect", {x: (first / count) * width, width: Math.max(((last - first + 1) / count) * width, 1), y: height - ((address - base) / most) * height - tall, height: tall,
          class: `part part${number % 5}`, on: {click: () => queueDetails(queue)}}, svg("title", {text: `${queue.name} (${queue.kind})\n${bytesText(queue.bytes)} in channel ${ch}, epochs ${first} to ${last}`})));
      }
    });
    const mark = svg("rect", {x: (epoch / count) * width, y: 0, width: Math.max(width / count, 1), height, class: "now"});
    return el("figure", {}, el("figcaption", {text: `channel ${channel.channel}: peak ${bytesText(channel.peak_bytes)}, bound ${bytesText(channel.bound_bytes)}`}),
      svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "dram", preserveAspectRatio: "none", role: "img", "aria-label": `Memory of channel ${channel.channel} over epochs`}, boxes, mark));
  });
  return el("div", {}, pictures);
}

// The epoch in which most bytes are alive, and what is alive in it.
function peakOf() {
  const device = doc.device;
  const alive = new Float64Array(device.epochs.length + 2);
  const sizeOf = (queue) => queue.bytes * queue.buffers.length;
  for (const queue of device.queues) {
    const [first, last] = lifeOf(queue);
    alive[Math.min(first, device.epochs.length)] += sizeOf(queue);
    alive[Math.min(last, device.epochs.length) + 1] -= sizeOf(queue);
  }
  let [best, now, most] = [0, 0, -1];
  for (let at = 0; at < device.epochs.length; at += 1) {
    now += alive[at];
    if (now > most) [best, most] = [at, now];
  }
  const held = device.queues.filter((queue) => queue.buffers.length && lifeOf(queue)[0] <= best && best <= lifeOf(queue)[1]);
  return {epoch: best, bytes: most, queues: held.sort((a, b) => sizeOf(b) - sizeOf(a)).map((queue) => ({queue, bytes: sizeOf(queue)}))};
}

function peakTable() {
  const peak = peakOf();
  const kinds = new Map();
  for (const {queue, bytes} of peak.queues) kinds.set(queue.kind, (kinds.get(queue.kind) || 0) + bytes);
  const told = [...kinds].sort((a, b) => b[1] - a[1]).map(([kind, bytes]) => `${kind} ${bytesText(bytes)}`).join(", ");
  const rows = peak.queues.map(({queue, bytes}) => [queue.name, queue.kind, queue.type, bytesText(bytes), `${((bytes / peak.bytes) * 100).toFixed(1)} %`]);
  return el("div", {id: "peak"}, heading("What fills DRAM at its peak"), el("p", {text: `Epoch ${peak.epoch}, ${bytesText(peak.bytes)}: ${told}.`}),
    table(["queue", "holds", "type", "bytes", "share"], rows, {most: 40, onRow: (at) => queueDetails(peak.queues[at].queue)}));
}

function queueDetails(queue) {
  const stage = doc.stageByName.get("netlist");
  const writer = queue.source ? doc.placed.get(queue.source) : null;
  const readers = stage.ops.filter((op) => (op.weights || []).includes(queue.key));
  fill(document.getElementById("details"), heading(queue.name), facts([["Holds", queue.kind], ["Entry", queue.type], ["Entries", queue.entries], ["Where", `${queue.location} of chip ${queue.chip}`],
    ["Bytes", `${bytesText(queue.bytes)} each of ${queue.buffers.length} buffers`], ["Epochs", queue.lifetime ? queue.lifetime.join(" to ") : "all"]]),
    section("Written by", writer ? opLink(writer) : null), section("Read by", listOf(readers.slice(0, 20).map((op) => opLink(op)))),
    section("Value", queue.key ? weightOf(queue.key) : null),
    section("Buffers", table(["channel", "address"], queue.buffers.map(([channel, address]) => [channel, `0x${address.toString(16)}`]), {most: 100})));
}

function ethernetTable() {
  const ops = doc.stageByName.get("netlist").ops.filter((op) => op.place && op.place.kind === "ethernet");
  if (!ops.length && !doc.device.links.length) return null;
  return el("div", {}, heading("Ethernet"), el("p", {class: "quiet", text: doc.device.links.map(([a, b, n]) => `chips ${a} and ${b}: ${n} links`).join("; ")}),
    table(["op", "from chip", "to chip", "epoch"], ops.map((op) => [opLink(op, op.id), op.place.chip, op.place.to, op.graph])));
}

// Ops that the device has no kernel for, with what passes said of them.
function hostTable() {
  const ops = doc.stageByName.get("netlist").ops.filter(isHost);
  if (!ops.length) return el("div", {}, heading("On the host"), el("p", {class: "quiet", text: "No op runs on the host."}));
  const why = (op) => remarksOf(op).filter(({remark}) => /host/.test(remark.message)).map(({remark}) => remark.message)[0] || "the target has no kernel for it (a dump of the passes would say more)";
  return el("div", {id: "host"}, heading("On the host"), table(["op", "node", "why"], ops.map((op) => [opLink(op, op.name), (op.sources || [])[0] || "", why(op)])));
}
