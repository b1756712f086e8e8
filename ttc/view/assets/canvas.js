// A pane that is drawn on a canvas, moved and zoomed; and pens, which draw the same on a canvas or into an SVG.

class CanvasPen {
  constructor(context) {
    this.context = context;
  }

  box(x, y, width, height, {fill = null, stroke = null, dash = null, thick = 1} = {}) {
    const c = this.context;
    if (fill) {
      c.fillStyle = fill;
      c.fillRect(x, y, width, height);
    }
    if (!stroke) return;
    c.lineWidth = thick;
    c.setLineDash(dash || []);
    c.strokeStyle = stroke;
    c.strokeRect(x, y, width, height);
  }

  line(points, {stroke, thick = 1, dash = null}) {
    const c = this.context;
    c.lineWidth = thick;
    c.setLineDash(dash || []);
    c.strokeStyle = stroke;
    c.beginPath();
    points.forEach(([x, y], at) => (at === 0 ? c.moveTo(x, y) : c.lineTo(x, y)));
    c.stroke();
  }

  text(text, x, y, {fill, size = 12, bold = false, room = Infinity, middle = false}) {
    const c = this.context;
    c.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
    c.textAlign = middle ? "center" : "left";
    c.fillStyle = fill;
    c.fillText(fitted(visible(text), room, size), x, y);
  }
}

class SvgPen {
  constructor() {
    this.parts = [];
  }

  box(x, y, width, height, {fill = null, stroke = null, dash = null, thick = 1} = {}) {
    const line = stroke ? ` stroke="${stroke}" stroke-width="${thick}"${dash ? ` stroke-dasharray="${dash.join(" ")}"` : ""}` : "";
    this.parts.push(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill || "none"}"${line}/>`);
  }

  line(points, {stroke, thick = 1, dash = null}) {
    const path = points.map((point) => point.map((at) => at.toFixed(1)).join(",")).join(" ");
    this.parts.push(`<polyline points="${path}" fill="none" stroke="${stroke}" stroke-width="${thick}"${dash ? ` stroke-dasharray="${dash.join(" ")}"` : ""}/>`);
  }

  text(text, x, y, {fill, size = 12, bold = false, room = Infinity, middle = false}) {
    const escaped = fitted(visible(text), room, size).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
    this.parts.push(`<text x="${x}" y="${y}" fill="${fill}" font-size="${size}"${bold ? ' font-weight="600"' : ""}${middle ? ' text-anchor="middle"' : ""}>${escaped}</text>`);
  }

  picture(box, paper) {
    const view = `${box.x} ${box.y} ${box.width} ${box.height}`;
    return `<svg xmlns="${SVG}" viewBox="${view}" width="${box.width}" height="${box.height}" font-family="system-ui, sans-serif"><rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" fill="${paper}"/>${this.parts.join("")}</svg>`;
  }
}

// Text that fits into so many pixels, by the mean width of letters.
function fitted(text, room, size) {
  const most = Math.floor(room / (size * 0.56));
  return text.length <= most ? text : most < 3 ? "" : `${text.slice(0, most - 1)}…`;
}

// draw(pen, box, scale): draws what lies in the box; box(): all of the picture; hit(x, y): what lies there; pick(found): it was clicked.
class Pane {
  constructor({draw, box, hit, pick, sideways = false, gutter = 0}) {
    Object.assign(this, {draw, box, hit, pick, sideways, gutter});
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.frames = 0;
    this.canvas = el("canvas", {tabindex: 0, role: "img", "aria-label": "Drawing; the search and the tables say the same in words"});
    this.element = el("div", {class: "pane"}, this.canvas, el("div", {class: "tools"},
      button("+", () => this.zoom(1.3), {title: "Larger (+)"}), button("−", () => this.zoom(1 / 1.3), {title: "Smaller (-)"}),
      button("Fit", () => this.fit(), {title: "All of it (0)"}), button("SVG", () => this.export("svg")), button("PNG", () => this.export("png"))));
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  listen() {
    const c = this.canvas;
    let held = null;
    c.addEventListener("pointerdown", (event) => {
      held = {x: event.clientX, y: event.clientY, moved: false};
      c.setPointerCapture(event.pointerId);
    });
    c.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      held = {x: event.clientX, y: event.clientY, moved: true};
      this.move(-dx / this.scale, -dy / (this.sideways ? 1 : this.scale));
    });
    c.addEventListener("pointerup", (event) => {
      if (held && !held.moved) {
        const area = c.getBoundingClientRect();
        const found = this.hit(...this.at(event.clientX - area.left, event.clientY - area.top));
        if (found !== null && found !== undefined) this.pick(found);
      }
      held = null;
    });
    c.addEventListener("wheel", (event) => {
      event.preventDefault();
      const area = c.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || this.sideways === !event.shiftKey) this.zoom(Math.exp(-event.deltaY / 400), event.clientX - area.left, event.clientY - area.top);
      else this.move(event.deltaX / this.scale, event.deltaY / this.scale);
    }, {passive: false});
    c.addEventListener("keydown", (event) => {
      const step = 60 / this.scale;
      const moves = {ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step], PageDown: [0, 6 * step], PageUp: [0, -6 * step]};
      if (moves[event.key]) this.move(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.3);
      else if (event.key === "-") this.zoom(1 / 1.3);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  at(px, py) {
    return [this.x + (px - this.gutter) / this.scale, this.y + py / (this.sideways ? 1 : this.scale)];
  }

  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.request();
  }

  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const [x, y] = this.at(px, py);
    this.scale = Math.min(Math.max(this.scale * factor, 1e-6), this.sideways ? 1e6 : 4);
    this.x = x - (px - this.gutter) / this.scale;
    if (!this.sideways) this.y = y - py / this.scale;
    this.request();
  }

  fit() {
    const all = this.box();
    const [width, height] = [this.canvas.clientWidth || 800, this.canvas.clientHeight || 600];
    const across = (width - this.gutter - 40) / Math.max(all.width, 1e-6);
    this.scale = this.sideways ? across : Math.min(across, (height - 40) / Math.max(all.height, 1e-6), 1.5);
    this.x = this.sideways ? all.x : all.x - (width / this.scale - all.width) / 2;
    this.y = this.sideways ? all.y : all.y - (height / this.scale - all.height) / 2;
    this.request();
  }

  // Put a point into the middle, at a size at which it can be read.
  center(x, y, least = 0.8) {
    if (!this.sideways) this.scale = Math.max(this.scale, least);
    this.x = x - this.canvas.clientWidth / 2 / this.scale;
    this.y = y - this.canvas.clientHeight / 2 / (this.sideways ? 1 : this.scale);
    this.request();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (!this.fitted && this.canvas.clientWidth > 1) {
      this.fitted = true;
      (this.start || (() => this.fit())).call(this);
    }
    this.request();
  }

  request() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  paint() {
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext("2d");
    const [width, height] = [this.canvas.width / ratio, this.canvas.height / ratio];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const down = this.sideways ? 1 : this.scale;
    if (!this.sideways) context.setTransform(ratio * this.scale, 0, 0, ratio * down, -this.x * this.scale * ratio, -this.y * down * ratio);
    this.draw(new CanvasPen(context), {x: this.x, y: this.y, width: (width - this.gutter) / this.scale, height: height / down}, this.scale);
    this.frames += 1;
  }

  // Write all of the picture to a file; one that is too large for pixels is scaled down.
  async export(kind) {
    const all = this.sideways ? {x: this.x, y: this.y, width: this.canvas.clientWidth / this.scale, height: this.canvas.clientHeight} : this.box();
    const frame = this.sideways ? {x: 0, y: 0, width: this.canvas.clientWidth, height: all.height} : all;
    if (kind === "svg") {
      const pen = new SvgPen();
      this.draw(pen, all, this.sideways ? this.scale : 1);
      return download("view.svg", new Blob([pen.picture(frame, theme().paper)], {type: "image/svg+xml"}));
    }
    const scale = Math.min(2, 12000 / Math.max(frame.width, frame.height, 1));
    const canvas = el("canvas", {width: Math.ceil(frame.width * scale), height: Math.ceil(frame.height * scale)});
    const context = canvas.getContext("2d");
    context.fillStyle = theme().paper;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.setTransform(scale, 0, 0, scale, -frame.x * scale, -frame.y * scale);
    this.draw(new CanvasPen(context), all, this.sideways ? this.scale : 1);
    return canvas.toBlob((blob) => download("view.png", blob));
  }
}
