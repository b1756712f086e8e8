// Differences of two texts by lines, and their drawing side by side, of which only lines in sight exist.

const LINE = 18;

// A line without the numbers of values, which change with every op that comes or goes.
function masked(line) {
  return line.replace(/%\d+/g, "%").replace(/, ttc\.passes_done = \d+ : i64/, "");
}

// Rows [old number, new number]: -1 for a line that one side lacks.  Myers' way, on lines between the common ends.
function differences(a, b) {
  const [left, right] = [a.map(masked), b.map(masked)];
  let begin = 0;
  while (begin < left.length && begin < right.length && left[begin] === right[begin]) begin += 1;
  let [endA, endB] = [left.length, right.length];
  while (endA > begin && endB > begin && left[endA - 1] === right[endB - 1]) {
    endA -= 1;
    endB -= 1;
  }
  const rows = [];
  for (let at = 0; at < begin; at += 1) rows.push([at, at]);
  rows.push(...middleRows(left, right, begin, endA, endB));
  for (let at = 0; endA + at < left.length; at += 1) rows.push([endA + at, endB + at]);
  return rows;
}

const MOST_STEPS = 1500;

function middleRows(left, right, begin, endA, endB) {
  const [n, m] = [endA - begin, endB - begin];
  const reach = Math.min(n + m, MOST_STEPS);
  const furthest = new Map([[1, 0]]);
  const trace = [];
  for (let d = 0; d <= reach; d += 1) {
    trace.push(new Map(furthest));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && (furthest.get(k - 1) ?? -1) < (furthest.get(k + 1) ?? -1)) ? furthest.get(k + 1) : furthest.get(k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && left[begin + x] === right[begin + y]) {
        x += 1;
        y += 1;
      }
      furthest.set(k, x);
      if (x >= n && y >= m) return traced(trace, d, n, m, begin);
    }
  }
  return byPieces(left, right, begin, endA, endB);
}

function traced(trace, d, n, m, begin) {
  const rows = [];
  let [x, y] = [n, m];
  for (let step = d; step >= 0; step -= 1) {
    const before = trace[step];
    const k = x - y;
    const k0 = k === -step || (k !== step && (before.get(k - 1) ?? -1) < (before.get(k + 1) ?? -1)) ? k + 1 : k - 1;
    const x0 = step ? before.get(k0) : 0;
    const y0 = step ? x0 - k0 : 0;
    while (x > x0 && y > y0) {
      x -= 1;
      y -= 1;
      rows.push([begin + x, begin + y]);
    }
    if (!step) break;
    if (x === x0) rows.push([-1, begin + (y -= 1)]);
    else rows.push([begin + (x -= 1), -1]);
  }
  return rows.reverse();
}

// Texts that differ nearly everywhere: lines that occur once in each are partners where they stand in order; the rest is old, then new.
function byPieces(left, right, begin, endA, endB) {
  const places = new Map();
  for (let at = begin; at < endB; at += 1) places.set(right[at], places.has(right[at]) ? -1 : at);
  const rows = [];
  let next = begin;
  for (let at = begin; at < endA; at += 1) {
    const other = places.get(left[at]);
    if (other === undefined || other < next) {
      rows.push([at, -1]);
      continue;
    }
    while (next < other) rows.push([-1, next++]);
    rows.push([at, other]);
    next = other + 1;
  }
  while (next < endB) rows.push([-1, next++]);
  return rows;
}

// The rows with what has not changed left out, but for three lines around each change; null stands for what is left out.
function changedRows(rows) {
  const keep = new Uint8Array(rows.length);
  rows.forEach(([a, b], at) => {
    if (a < 0 || b < 0) keep.fill(1, Math.max(at - 3, 0), at + 4);
  });
  const found = [];
  rows.forEach((row, at) => {
    if (keep[at]) found.push(row);
    else if (at === 0 || keep[at - 1]) found.push(null);
  });
  return found;
}

function sideBySide(a, b, whole) {
  const all = differences(a, b);
  const rows = whole ? all : changedRows(all);
  const inner = el("div", {class: "lines"});
  inner.style.height = `${rows.length * LINE}px`;
  const outer = el("div", {class: "diff", tabindex: 0, "aria-label": "Before and after, side by side"}, inner);
  const refill = () => {
    const first = Math.max(Math.floor(outer.scrollTop / LINE) - 10, 0);
    const last = Math.min(first + Math.ceil((outer.clientHeight || 600) / LINE) + 20, rows.length);
    inner.replaceChildren(...rows.slice(first, last).map((row, at) => diffRow(row, a, b, first + at)));
  };
  outer.addEventListener("scroll", () => requestAnimationFrame(refill));
  new ResizeObserver(refill).observe(outer);
  const changed = all.filter(([x, y]) => x < 0 || y < 0).length;
  return {element: outer, changed};
}

function diffRow(row, a, b, at) {
  const found = row === null ? el("div", {class: "line gap", text: "⋯"})
    : el("div", {class: "line"}, half(a, row[0], row[1] < 0 ? "-" : " "), half(b, row[1], row[0] < 0 ? "+" : " "));
  found.style.top = `${at * LINE}px`;
  return found;
}

function half(lines, number, sign) {
  const kind = number < 0 ? "none" : sign === "-" ? "old" : sign === "+" ? "new" : "";
  return el("div", {class: `half ${kind}`}, el("span", {class: "sign", text: number < 0 ? "" : sign}), el("code", {text: number < 0 ? "" : lines[number], title: number < 0 ? null : lines[number]}));
}
