// Layout of graphs of any size: slices in program order, each laid out by dagre, one below the other.

const SLICE = 160;
const GAP_X = 18;
const GAP_Y = 34;

// Cut the nodes, which stand in program order, into slices of SLICE to 2 SLICE nodes, where the fewest edges cross.
function slices(count, edges) {
  if (count <= 2 * SLICE) return [[0, count]];
  const crossing = new Int32Array(count + 1);
  for (const [from, to] of edges) {
    crossing[Math.min(from, to) + 1] += 1;
    crossing[Math.max(from, to) + 1] -= 1;
  }
  for (let at = 1; at <= count; at += 1) crossing[at] += crossing[at - 1];
  const found = [];
  let begin = 0;
  while (count - begin > 2 * SLICE) {
    let best = begin + SLICE;
    for (let at = best; at <= begin + 2 * SLICE; at += 1) if (crossing[at] < crossing[best]) best = at;
    found.push([begin, best]);
    begin = best;
  }
  found.push([begin, count]);
  return found;
}

// Lay out nodes {width, height} and edges [from, to]; gives nodes x, y (of their middle), and each edge its points.
// `still` is asked between slices whether the result is wanted; the promise gives null if it is not.
async function layOut(nodes, edges, still = () => true) {
  const parts = slices(nodes.length, edges);
  const partOf = new Int32Array(nodes.length);
  parts.forEach(([begin, end], number) => partOf.fill(number, begin, end));
  const inside = parts.map(() => []);
  const across = [];
  edges.forEach((edge, number) => (partOf[edge[0]] === partOf[edge[1]] ? inside[partOf[edge[0]]] : across).push(number));
  const points = new Array(edges.length);
  let top = 0;
  let width = 0;
  let pause = performance.now();
  for (let number = 0; number < parts.length; number += 1) {
    const size = layOutSlice(nodes, edges, parts[number], inside[number], top, points);
    top += size.height + GAP_Y;
    width = Math.max(width, size.width);
    if (performance.now() - pause > 60) {
      await new Promise((done) => setTimeout(done));
      if (!still()) return null;
      pause = performance.now();
    }
  }
  for (const number of across) points[number] = acrossSlices(nodes[edges[number][0]], nodes[edges[number][1]]);
  return {points, width, height: top};
}

function layOutSlice(nodes, edges, [begin, end], inside, top, points) {
  const graph = new dagre.graphlib.Graph({multigraph: true});
  graph.setGraph({rankdir: "TB", ranker: "longest-path", nodesep: GAP_X, edgesep: 8, ranksep: GAP_Y});
  for (let at = begin; at < end; at += 1) graph.setNode(String(at), {width: nodes[at].width, height: nodes[at].height});
  for (const number of inside) graph.setEdge(String(edges[number][0]), String(edges[number][1]), {}, String(number));
  dagre.layout(graph);
  const size = graph.graph();
  const middle = size.width / 2;
  for (let at = begin; at < end; at += 1) {
    const placed = graph.node(String(at));
    nodes[at].x = placed.x - middle;
    nodes[at].y = placed.y + top;
  }
  for (const number of inside) {
    const found = graph.edge(String(edges[number][0]), String(edges[number][1]), String(number));
    points[number] = found.points.map((point) => [point.x - middle, point.y + top]);
  }
  return {width: size.width, height: size.height};
}

// An edge between slices leaves its node below and enters the other above.
function acrossSlices(from, to) {
  const start = [from.x, from.y + from.height / 2];
  const stop = [to.x, to.y - to.height / 2];
  const bend = Math.min(GAP_Y, Math.abs(stop[1] - start[1]) / 2);
  return [start, [start[0], start[1] + bend], [stop[0], stop[1] - bend], stop];
}
