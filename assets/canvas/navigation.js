/** Moving through a bag: zoom, pages, the ends of a recording, segments far away; and the view a person had before. */
import { marginsFor } from "./axes.js";

const remembered = new Map(); // bag -> what was looked at, so that coming back finds it again
const REMEMBERED_BAGS = 50;
const PAGE = 0.9; // of the view: what was at the edge stays visible

export class Navigation {
  constructor(editor) {
    this.editor = editor;
  }

  get view() {
    return this.editor.view;
  }

  /** Fit the plot into the canvas. */
  fit() {
    const { layers } = this.editor;
    const margins = marginsFor(this.view.kind);
    const width = Math.max(10, layers.width - margins.left - margins.right);
    const height = Math.max(10, layers.height - margins.top - margins.bottom);
    this.view.fit({ x: margins.left, y: margins.top, width, height });
    layers.node.classList.toggle("zoomed", this.view.zoomedIn);
  }

  /** The view has moved: repaint. */
  moved() {
    this.editor.card.hide();
    this.editor.layers.node.classList.toggle("zoomed", this.view.zoomedIn);
    this.editor.layers.refresh();
  }

  zoom(factor) {
    const { x, y, width, height } = this.view.plot;
    const [segment] = this.editor.selection.segments;
    const box = segment?.shape.box;
    const onScreen = box && box.u1 >= this.view.window.u0 && box.u0 <= this.view.window.u1;
    const at = onScreen ? this.view.pixelAt((box.u0 + box.u1) / 2, (box.v0 + box.v1) / 2) : { x: x + width / 2, y: y + height / 2 };
    this.view.zoomAbout(at.x, at.y, factor, this.view.kind === "picture" ? factor : 1);
    this.moved();
  }

  seeAll() {
    this.view.reset();
    this.moved();
  }

  /** One view to the right (1) or left (-1); false where all of the bag is in view. */
  page(step) {
    if (this.view.zoom.x <= 1.001) return false;
    this.view.shift(step * PAGE);
    this.moved();
    return true;
  }

  /** To the beginning (-1) or the end (1) of the bag; false where all of it is in view. */
  goToEnd(step) {
    if (this.view.zoom.x <= 1.001) return false;
    this.view.shift(step * Infinity);
    this.moved();
    return true;
  }

  /** Put a place (seconds from the left edge of the bag) into the middle. */
  centreOn(u) {
    this.view.centreOn(u);
    this.moved();
  }

  /** Keep the playing sound in view. */
  follow(seconds) {
    const u = seconds - this.view.extent.left;
    const { u0, u1 } = this.view.window;
    if (u > u1 && u < u1 + (u1 - u0) / 4) this.page(1);
  }

  /** The part of the bag in view, in real units, held inside the bag. */
  get range() {
    const { u0, u1 } = this.view.window;
    const { left } = this.view.extent;
    return { from: Math.max(0, u0) + left, to: Math.min(this.view.whole.u1, u1) + left };
  }

  /** Select a segment of the bag on screen, fetching it first where it lies outside what is loaded. */
  async goToSegment(id) {
    const { editor } = this;
    const { bag, bagSync, selection } = editor;
    if (bag.range && (!selection.find(id) || bag.range.detail === "none")) {
      const opening = bag.opening[1] - bag.opening[0];
      const { u0, u1 } = this.view.window;
      const crowded = bag.range.detail === "none" && u1 - u0 > opening;
      if (!(await bagSync.loadSegment(id, crowded ? opening : u1 - u0)) || editor.bag.id !== bag.id) return false;
      if (crowded) this.view.span(opening);
    }
    if (!selection.find(id)) return false;
    selection.select([id]);
    return true;
  }

  // the view of each bag

  get #key() {
    const { bag, data, mode } = this.editor;
    return `${data.project}/${bag.id}/${mode}`;
  }

  remember() {
    if (this.editor.bag === null) return;
    remembered.delete(this.#key);
    remembered.set(this.#key, { window: this.view.remember(), band: String(this.view.band), selected: this.editor.selection.ids });
    if (remembered.size > REMEMBERED_BAGS) remembered.delete(remembered.keys().next().value);
  }

  /** Look where the person looked when this bag was last on screen and return what was selected then. */
  recall() {
    const before = remembered.get(this.#key);
    if (before?.band === String(this.view.band)) this.view.recall(before.window);
    return before?.selected ?? [];
  }
}
