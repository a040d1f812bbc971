/** Mouse, pen and touch: hover, select, pan, zoom, pinch and draw. */
import { simplify } from "./shapes.js";

const STILL = 4; // pixels a press may move and still be a click
const STILL_FINGER = 10;
const WHEEL_STEP = 0.0016;
const DOUBLE = 350;

export class Pointer {
  #pressed = new Map();
  #press = null;
  #lastTap = { time: 0, x: 0, y: 0 };

  constructor(disposables, layers, editor) {
    this.layers = layers;
    this.editor = editor;
    const node = layers.node;
    disposables.listen(node, "pointerdown", (event) => this.#down(event));
    disposables.listen(node, "pointermove", (event) => this.#move(event));
    disposables.listen(node, "pointerup", (event) => this.#up(event));
    disposables.listen(node, "pointercancel", (event) => this.#cancel(event));
    disposables.listen(node, "pointerleave", () => editor.hoverAt(null));
    disposables.listen(node, "wheel", (event) => this.#wheel(event), { passive: false });
    disposables.listen(node, "contextmenu", (event) => event.preventDefault());
  }

  #down(event) {
    if (event.button > 1 || event.target.closest(".card, .class-search, .help, .notice, .view-panel")) return;
    this.layers.node.focus({ preventScroll: true });
    if (event.button === 1) event.preventDefault();
    this.layers.node.setPointerCapture(event.pointerId);
    const at = this.layers.pointOf(event);
    this.#pressed.set(event.pointerId, at);
    if (this.#pressed.size === 2) this.#startPinch();
    else if (this.#pressed.size === 1) this.#startPress(event, at);
  }

  #startPress(event, at) {
    const draws = this.editor.tools.current !== "select" && event.button === 0 && this.editor.view.contains(at.x, at.y);
    this.#press = { from: at, last: at, moved: false, draws, finger: event.pointerType === "touch", points: [at] };
  }

  #startPinch() {
    this.#press = { pinch: true, from: this.#spread(), window: this.editor.view.remember() };
    this.editor.tools.setDraft(null);
  }

  #spread() {
    const [a, b] = [...this.#pressed.values()];
    return { distance: Math.max(8, Math.hypot(a.x - b.x, a.y - b.y)), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  }

  #move(event) {
    const at = this.layers.pointOf(event);
    if (!this.#pressed.has(event.pointerId)) {
      if (event.pointerType !== "touch") this.editor.hoverAt(event.target.closest(".view-panel") ? null : at);
      return;
    }
    this.#pressed.set(event.pointerId, at);
    if (this.#press?.pinch) this.#pinch();
    else if (this.#press) this.#drag(event, at);
  }

  /** What lay between the fingers when they came down stays between them. */
  #pinch() {
    const { from, window } = this.#press;
    const now = this.#spread();
    const factor = now.distance / from.distance;
    this.editor.view.recall(window);
    this.editor.view.zoomAbout(from.x, from.y, factor, factor);
    this.editor.view.panBy(now.x - from.x, now.y - from.y);
    this.editor.navigation.moved();
  }

  #drag(event, at) {
    const press = this.#press;
    const reach = press.finger ? STILL_FINGER : STILL;
    if (!press.moved && Math.hypot(at.x - press.from.x, at.y - press.from.y) < reach) return;
    press.moved = true;
    if (press.draws) {
      const passed = event.getCoalescedEvents?.() ?? [];
      press.points.push(...(passed.length ? passed.map((e) => this.layers.pointOf(e)) : [at]));
      this.editor.tools.setDraft(this.#draft(press, at));
    } else {
      this.editor.view.panBy(at.x - press.last.x, at.y - press.last.y);
      this.editor.navigation.moved();
    }
    press.last = at;
    this.editor.hoverAt(null, at);
  }

  /** What is being drawn, in pixels: a box from corner to corner, a straight cut, or the path of the pointer. */
  #draft({ from, points }, at) {
    if (this.editor.tools.current === "box") {
      return [from, { x: at.x, y: from.y }, at, { x: from.x, y: at.y }];
    }
    return this.editor.tools.current === "split" ? simplify(points, 2) : points;
  }

  #up(event) {
    const press = this.#press;
    const at = this.layers.pointOf(event);
    this.#release(event);
    if (!press || press.pinch) return;
    if (press.moved && press.draws) this.#finishDraft(press, at);
    else if (!press.moved) this.#click(event, at);
  }

  #finishDraft(press, at) {
    const draft = this.#draft(press, at);
    const points = this.editor.tools.current === "box" ? draft : simplify(draft, 1);
    this.editor.tools.setDraft(null);
    this.editor.commands.drawn(points);
  }

  #click(event, at) {
    const twice = event.timeStamp - this.#lastTap.time < DOUBLE && Math.hypot(at.x - this.#lastTap.x, at.y - this.#lastTap.y) < 12;
    this.#lastTap = { time: twice ? 0 : event.timeStamp, ...at };
    if (twice) this.editor.navigation.seeAll();
    else if (event.button === 0) this.editor.clickAt(at, event.shiftKey || event.ctrlKey || event.metaKey);
  }

  #cancel(event) {
    this.#release(event);
    this.editor.tools.setDraft(null);
  }

  #release(event) {
    this.#pressed.delete(event.pointerId);
    this.#press = null;
  }

  #wheel(event) {
    const { view } = this.editor;
    const at = this.layers.pointOf(event);
    const pixels = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey && !event.ctrlKey) {
      view.panBy(-(event.deltaX || event.deltaY) * pixels, 0);
    } else {
      if (event.deltaY > 0 && !view.zoomedIn && !event.ctrlKey) return; // nothing left to zoom out of: the page scrolls
      this.#zoomBy(at, Math.exp(-event.deltaY * pixels * WHEEL_STEP * (event.ctrlKey ? 4 : 1)), event.ctrlKey);
    }
    event.preventDefault();
    this.editor.navigation.moved();
  }

  /** A wheel stretches a sound in time (in frequency over the frequency axis, both with Ctrl), a picture both ways. */
  #zoomBy(at, factor, both) {
    const { view } = this.editor;
    const { plot } = view;
    const x = Math.min(Math.max(at.x, plot.x), plot.x + plot.width);
    const y = Math.min(Math.max(at.y, plot.y), plot.y + plot.height);
    if (view.kind === "picture" || both) view.zoomAbout(x, y, factor, factor);
    else if (at.x < plot.x) view.zoomAbout(x, y, 1, factor);
    else view.zoomAbout(x, y, factor, 1);
  }
}
