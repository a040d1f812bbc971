/**
 * Which part of the bag is on screen: real units <-> CSS pixels.
 *
 * Between the two lies the plane: u is x counted from the left edge of the bag (so that the single-precision numbers
 * of a canvas path keep their digits an hour into a recording), v is y on the display's scale. A sound stretches to
 * the plot; a picture keeps its proportions.
 */
const DEEPEST_ZOOM = 400;
const SHORTEST_VIEW = 0.05; // seconds that a sound of any length can be zoomed to

const warps = {
  linear: { to: (y) => y, from: (v) => v },
  mel: { to: (y) => 2595 * Math.log10(1 + y / 700), from: (v) => 700 * (10 ** (v / 2595) - 1) },
};

export class Viewport {
  /** `opening`: from and to, in real units, of the part that is shown first; `band`: the frequencies shown; null is all. */
  constructor(extent, kind, opening = null, band = null) {
    this.extent = extent;
    this.kind = kind;
    this.warp = warps[extent.scale] ?? warps.linear;
    this.whole = { u0: 0, u1: extent.right - extent.left, v0: this.warp.to(extent.top), v1: this.warp.to(extent.bottom) };
    this.plot = { x: 0, y: 0, width: 1, height: 1 };
    this.band = band;
    this.home = this.#homeIn(this.plot);
    this.window = { ...this.home };
    if (opening) Object.assign(this.window, { u0: opening[0] - extent.left, u1: Math.min(opening[1] - extent.left, this.whole.u1) });
    const span = kind === "sound" ? this.whole.u1 / SHORTEST_VIEW : 0;
    this.deepest = { x: Math.max(DEEPEST_ZOOM, span), y: DEEPEST_ZOOM };
  }

  /** Change the plot; what was in the middle stays in the middle. */
  fit(plot) {
    const zoom = this.zoom;
    const { u0, u1, v0, v1 } = this.window;
    this.plot = plot;
    this.home = this.#homeIn(plot);
    const width = (this.home.u1 - this.home.u0) / zoom.x;
    const height = (this.home.v1 - this.home.v0) / zoom.y;
    this.#style((u0 + u1 - width) / 2, (v0 + v1 - height) / 2, width, height);
  }

  get zoom() {
    return {
      x: (this.home.u1 - this.home.u0) / (this.window.u1 - this.window.u0),
      y: (this.home.v1 - this.home.v0) / (this.window.v1 - this.window.v0),
    };
  }

  get zoomedIn() {
    return this.zoom.x > 1.001 || this.zoom.y > 1.001;
  }

  reset() {
    this.home = this.#homeIn(this.plot);
    this.window = { ...this.home };
  }

  /** Show other frequencies; the time in view stays. */
  setBand(band) {
    const { u0, u1 } = this.window;
    this.band = band;
    this.home = this.#homeIn(this.plot);
    this.window = { ...this.home, u0, u1 };
  }

  /** Top and bottom of what is shown without zoom, as shares of the picture's height. */
  get bandShares() {
    const { v0, v1 } = this.whole;
    return [this.home.v0, this.home.v1].map((v) => (v - v0) / (v1 - v0));
  }

  #homeIn(plot) {
    return this.kind === "picture" ? letterbox(this.whole, plot) : { ...this.whole, ...this.#bandInside() };
  }

  /** The band's edges on the plane; nothing where none of it is in this recording. */
  #bandInside() {
    const { top, bottom } = this.extent;
    if (this.kind === "picture" || this.band === null) return {};
    const [low, high] = [Math.max(bottom, this.band[0]), Math.min(top, this.band[1] ?? top)];
    return low < high ? { v0: this.warp.to(high), v1: this.warp.to(low) } : {};
  }

  /** Zoom by factors about a point of the screen, which keeps its place. */
  zoomAbout(px, py, factorX, factorY) {
    const at = this.planeAt(px, py);
    const { u0, u1, v0, v1 } = this.window;
    const zoom = this.zoom;
    const fx = clamp(zoom.x * factorX, 1, this.deepest.x) / zoom.x;
    const fy = clamp(zoom.y * factorY, 1, this.deepest.y) / zoom.y;
    this.#style(at.u - (at.u - u0) / fx, at.v - (at.v - v0) / fy, (u1 - u0) / fx, (v1 - v0) / fy);
  }

  panBy(dx, dy) {
    const { u0, u1, v0, v1 } = this.window;
    const width = u1 - u0;
    const height = v1 - v0;
    this.#style(u0 - (dx * width) / this.plot.width, v0 - (dy * height) / this.plot.height, width, height);
  }

  /** Move by a share of the view's width; by infinity, to the end. */
  shift(share) {
    const { u0, u1, v0, v1 } = this.window;
    const target = Number.isFinite(share) ? u0 + share * (u1 - u0) : share > 0 ? this.home.u1 : this.home.u0;
    this.#style(target, v0, u1 - u0, v1 - v0);
  }

  centreOn(u) {
    const { u0, u1, v0, v1 } = this.window;
    this.#style(u - (u1 - u0) / 2, v0, u1 - u0, v1 - v0);
  }

  /** Show so many seconds, about the same middle. */
  span(seconds) {
    const { u0, u1, v0, v1 } = this.window;
    this.#style((u0 + u1 - seconds) / 2, v0, seconds, v1 - v0);
  }

  /** Move as little as needed to have a box of the plane on screen; what is far away comes to the middle. */
  reveal(box) {
    const widened = this.#widenFor(box);
    const { u0, u1, v0, v1 } = this.window;
    const moveU = nudge(u0, u1, box.u0, box.u1);
    const moveV = nudge(Math.min(v0, v1), Math.max(v0, v1), box.v0, box.v1);
    if (moveU || moveV) this.#style(u0 + moveU, v0 + moveV, u1 - u0, v1 - v0);
    return Boolean(widened || moveU || moveV);
  }

  /** Show all frequencies, until the range is shown again, for what lies by more than half outside of it. */
  #widenFor(box) {
    const inside = Math.min(box.v1, this.home.v0) - Math.max(box.v0, this.home.v1);
    if (this.kind === "picture" || this.band === null || inside >= (box.v1 - box.v0) / 2) return false;
    const { u0, u1 } = this.window;
    this.home = { ...this.whole };
    this.window = { ...this.home, u0, u1 };
    return true;
  }

  get matrix() {
    const { u0, u1, v0, v1 } = this.window;
    const a = this.plot.width / (u1 - u0);
    const d = this.plot.height / (v1 - v0);
    return { a, d, e: this.plot.x - u0 * a, f: this.plot.y - v0 * d };
  }

  planeAt(px, py) {
    const { a, d, e, f } = this.matrix;
    return { u: (px - e) / a, v: (py - f) / d };
  }

  pixelAt(u, v) {
    const { a, d, e, f } = this.matrix;
    return { x: u * a + e, y: v * d + f };
  }

  toPlane(x, y) {
    return { u: x - this.extent.left, v: this.warp.to(y) };
  }

  toReal(u, v) {
    return { x: u + this.extent.left, y: this.warp.from(v) };
  }

  realAt(px, py) {
    const { u, v } = this.planeAt(px, py);
    return this.toReal(u, v);
  }

  /** The real place under a pixel, held inside the bag. */
  insideAt(px, py) {
    const { u, v } = this.planeAt(px, py);
    const { u0, u1, v0, v1 } = this.whole;
    return this.toReal(clamp(u, u0, u1), clamp(v, Math.min(v0, v1), Math.max(v0, v1)));
  }

  contains(px, py) {
    const { x, y, width, height } = this.plot;
    return px >= x && px <= x + width && py >= y && py <= y + height;
  }

  remember() {
    return { ...this.window };
  }

  recall(window) {
    this.#style(window.u0, window.v0, window.u1 - window.u0, window.v1 - window.v0);
  }

  #style(u0, v0, width, height) {
    const home = this.home;
    const left = clamp(u0, home.u0, home.u1 - width);
    const down = home.v1 < home.v0; // sound: v shrinks towards the bottom, and height is negative
    const top = down ? clamp(v0, home.v1 - height, home.v0) : clamp(v0, home.v0, home.v1 - height);
    this.window = { u0: left, u1: left + width, v0: top, v1: top + height };
  }
}

export function clamp(value, low, high) {
  return Math.min(Math.max(value, Math.min(low, high)), Math.max(low, high));
}

function letterbox(whole, plot) {
  const width = whole.u1 - whole.u0;
  const height = whole.v1 - whole.v0;
  const scale = Math.min(plot.width / width, plot.height / height);
  const spareU = plot.width / scale - width;
  const spareV = plot.height / scale - height;
  return { u0: -spareU / 2, u1: width + spareU / 2, v0: whole.v0 - spareV / 2, v1: whole.v1 + spareV / 2 };
}

function nudge(low, high, from, to) {
  const margin = 0.05 * (high - low);
  const far = to < low - (high - low) / 2 || from > high + (high - low) / 2;
  if (far || to - from > high - low - 2 * margin) return (from + to) / 2 - (low + high) / 2;
  if (from < low + margin) return from - low - margin;
  if (to > high - margin) return to - high + margin;
  return 0;
}
