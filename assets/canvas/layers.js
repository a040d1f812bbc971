/** Three canvases over each other: the picture with its axes, the segments, and what moves with the pointer. */
import { element } from "./dom.js";

const LAYERS = ["base", "segments", "overlay"];
const HIGHEST = 900;

/** At least what the page asks for; more where the window has space besides what else the page shows. */
export function layersHeight({ height, around }) {
  return around ? `clamp(${height}px, 100vh - ${around}px, ${HIGHEST}px)` : `${height}px`;
}

export class Layers {
  #stale = new Set(LAYERS);
  #frame = 0;

  /** `painters` has one function per layer, called with its context when it is out of date; it clears what it repaints. */
  constructor(disposables, painters) {
    this.painters = painters;
    this.width = 0;
    this.height = 0;
    this.canvases = Object.fromEntries(LAYERS.map((name) => [name, element("canvas", { class: `layer ${name}` })]));
    this.node = element("div", { class: "layers", tabIndex: 0, role: "application" }, ...Object.values(this.canvases));
    disposables.watchSize(this.node, () => this.measure());
    disposables.atEnd(() => cancelAnimationFrame(this.#frame));
    this.onSize = () => {};
    this.painted = 0;
  }

  measure() {
    const { clientWidth: width, clientHeight: height } = this.node;
    const ratio = window.devicePixelRatio || 1;
    if (width === 0 || (width === this.width && height === this.height && ratio === this.ratio)) return;
    Object.assign(this, { width, height, ratio });
    for (const canvas of Object.values(this.canvases)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.onSize();
    this.paintNow(LAYERS);
  }

  /** Paint these layers in the next frame. */
  refresh(...names) {
    for (const name of names.length ? names : LAYERS) this.#stale.add(name);
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.paintNow());
  }

  paintNow(names = this.#stale) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const stale = [...names];
    this.#stale.clear();
    if (this.width === 0) return;
    for (const name of stale) this.#paint(name);
    this.painted += 1;
  }

  /** Wipe a layer's context. */
  clear(ctx) {
    ctx.clearRect(0, 0, this.width, this.height);
  }

  pointOf(event) {
    const box = this.node.getBoundingClientRect();
    return { x: event.clientX - box.left - this.node.clientLeft, y: event.clientY - box.top - this.node.clientTop };
  }

  #paint(name) {
    const ctx = this.canvases[name].getContext("2d");
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.painters[name](ctx);
  }
}
