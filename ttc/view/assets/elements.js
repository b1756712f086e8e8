// Elements of the page.  Text is always set as text: no name of a model is ever read as HTML.

// An element: {class, text, title, on: {click: f}, any attribute}, then children, of which null ones are left out.
function el(tag, settings = {}, ...children) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") found.textContent = visible(value);
    else if (name === "class") found.className = value;
    else if (name === "on") for (const [event, action] of Object.entries(value)) found.addEventListener(event, action);
    else found.setAttribute(name, value === true ? "" : visible(value));
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) found.append(child);
  return found;
}

// Put children into an element in the place of all others; null ones are left out.
function fill(root, ...children) {
  root.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

function add(root, ...children) {
  root.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, settings = {}, ...children) {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name === "text") found.textContent = visible(value);
    else if (name === "on") for (const [event, action] of Object.entries(value)) found.addEventListener(event, action);
    else found.setAttribute(name, visible(value));
  }
  for (const child of children.flat(Infinity)) if (child) found.append(child);
  return found;
}

// Control characters and marks that turn the direction of text, escaped.
function visible(value) {
  return String(value).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (letter) => {
    return `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

// A table: titles, rows of cells (text, number or element), and what a click on a row does.
function table(titles, rows, {onRow = null, most = 500} = {}) {
  const head = el("tr", {}, titles.map((title) => el("th", {text: title, scope: "col"})));
  const body = rows.slice(0, most).map((row, number) => {
    const cells = row.map((cell) => {
      if (cell instanceof Node) return el("td", {}, cell);
      return el("td", {text: typeof cell === "number" ? numberText(cell) : cell, class: typeof cell === "number" ? "number" : null});
    });
    if (!onRow) return el("tr", {}, cells);
    const go = () => onRow(number);
    return el("tr", {class: "link", tabindex: 0, on: {click: go, keydown: (event) => event.key === "Enter" && go()}}, cells);
  });
  const left = rows.length - body.length;
  return el("div", {class: "scroll"}, el("table", {}, el("thead", {}, head), el("tbody", {}, body)),
    left > 0 ? el("p", {class: "quiet", text: `and ${left.toLocaleString("en")} more`}) : null);
}

function heading(text) {
  return el("h2", {text});
}

function button(text, action, settings = {}) {
  return el("button", {type: "button", text, on: {click: action}, ...settings});
}

// A choice of one of several names.
function chooser(label, names, chosen, action) {
  const options = names.map((name) => el("option", {value: name, text: name, selected: name === chosen}));
  return el("label", {class: "choice"}, el("span", {text: label}), el("select", {on: {change: (event) => action(event.target.value)}}, options));
}

// A link to an op, as text that a click follows.
function opLink(op, text = null) {
  const shown = text || `${op.name} ${shortName((op.sources || [])[0] || op.id)}`;
  return button(shown, () => show({tab: "graph", stage: op.stage, op: op.place_in_stage}), {class: "op-link", title: (op.sources || []).join(", ")});
}

function download(name, blob) {
  const link = el("a", {href: URL.createObjectURL(blob), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The colours of the theme at hand, by the names of the style's variables.
function theme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(["ink", "quiet", "paper", "raised", "line", "accent", "bad", "good", "k0", "k1", "k2", "k3", "k4", "k5"].map((name) => [name, read(name)]));
}
