/** The whole of a long recording in a thin strip: its spectrogram, how many segments lie where, and the part in view. */
import { element } from "./dom.js";

export class Overview {
  #dragging = false;

  constructor(disposables, editor) {
    this.editor = editor;
    this.canvas = element("canvas", { class: "strip" });
    this.node = element("div", { class: "overview", hidden: true, title: "The whole recording: click or drag to go there" }, this.canvas);
    disposables.listen(this.node, "pointerdown", (event) => this.#down(event));
    disposables.listen(this.node, "pointermove", (event) => this.#dragging && this.#go(event));
    for (const end of ["pointerup", "pointercancel"]) disposables.listen(this.node, end, () => (this.#dragging = false));
  }

  /** Only a recording that is not opened as a whole has an overview. */
  get shown() {
    return Boolean(this.editor.bag?.opening && this.editor.bag.tiles);
  }

  paint() {
    this.node.hidden = !this.shown;
    if (!this.shown) return;
    const { bag, backdrop, layers, theme, view } = this.editor;
    const ratio = layers.ratio || 1;
    const { x, width } = view.plot;
    const height = this.canvas.clientHeight || 30;
    Object.assign(this.canvas.style, { marginLeft: `${x}px`, width: `${width}px` });
    const size = [Math.max(1, Math.round(width * ratio)), Math.round(height * ratio)];
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) [this.canvas.width, this.canvas.height] = size;
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const whole = backdrop.picture(bag.tiles.top, 0);
    const used = bag.tiles.width / 2 ** bag.tiles.top;
    const [from, to] = view.bandShares;
    if (whole) ctx.drawImage(whole, 0, from * whole.height, Math.min(used, whole.width), (to - from) * whole.height, 0, 0, width, height);
    paintCounts(ctx, densityOf(bag), { x: 0, y: height - 9, width, height: 9 });
    this.#paintWindow(ctx, view, width, height, theme);
  }

  #paintWindow(ctx, view, width, height, theme) {
    const left = (view.window.u0 / view.whole.u1) * width;
    const right = (view.window.u1 / view.whole.u1) * width;
    const middle = (left + right) / 2;
    const half = Math.max(1.5, (right - left) / 2);
    ctx.fillStyle = "rgba(0, 0, 0, 0.45)";
    ctx.fillRect(0, 0, middle - half, height);
    ctx.fillRect(middle + half, 0, width - middle - half, height);
    ctx.strokeStyle = theme.accent ?? "#ffffff";
    ctx.lineWidth = 2;
    ctx.strokeRect(middle - half, 1, 2 * half, height - 2);
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#dragging = true;
    this.node.setPointerCapture(event.pointerId);
    this.#go(event);
    event.preventDefault();
  }

  #go(event) {
    const box = this.canvas.getBoundingClientRect();
    this.editor.navigation.centreOn(((event.clientX - box.left) / box.width) * this.editor.view.whole.u1);
  }
}

/** Where the view holds too many segments to draw: how many there are, as bars along its lower edge. */
export function paintDensity(ctx, view, bag) {
  if (bag.range?.detail !== "none") return;
  const { x, y, width, height } = view.plot;
  const density = densityOf(bag);
  const from = (view.window.u0 / view.whole.u1) * density.length;
  const to = (view.window.u1 / view.whole.u1) * density.length;
  const high = Math.min(28, height / 6);
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  paintCounts(ctx, density, { x, y: y + height - high, width, height: high }, from, to);
  ctx.restore();
}

function paintCounts(ctx, density, { x, y, width, height }, from = 0, to = density.length) {
  const most = Math.max(1, ...density);
  const step = width / (to - from);
  ctx.fillStyle = "rgba(255, 255, 255, 0.5)";
  for (let bin = Math.floor(from); bin < Math.min(Math.ceil(to), density.length); bin++) {
    const bar = Math.ceil((density[bin] / most) * (height - 1));
    if (bar > 0) ctx.fillRect(x + (bin - from) * step, y + height - bar, Math.max(1, step - 0.5), bar);
  }
}

const BINS = 512;

function densityOf(bag) {
  if (bag.counts) return bag.counts.density;
  const density = Array.from({ length: BINS }, () => 0);
  const { left, right } = bag.extent;
  for (const { shape } of bag.segments) {
    if (!shape) continue;
    const middle = (shape.box.u0 + shape.box.u1) / 2 / (right - left);
    density[Math.min(BINS - 1, Math.max(0, Math.floor(middle * BINS)))] += 1;
  }
  return density;
}
