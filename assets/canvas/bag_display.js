/** Which bag is on screen: an item of the queue is opened, its bag is shown when it comes, its segment is selected. */
import { makeShape } from "./shapes.js";
import { tilesFor } from "./tiles.js";
import { Viewport } from "./viewport.js";

export class BagDisplay {
  #pending = null; // a segment to select as soon as it is here

  constructor(editor) {
    this.editor = editor;
  }

  /** Show an item of the queue; null when it is empty. */
  open(item) {
    const { editor } = this;
    const sameBag = item !== null && item[0] === editor.bag?.id && !editor.data.preview;
    editor.navigation.remember();
    editor.item = item;
    editor.tools.use("select");
    editor.notice.hide();
    this.#showEmpty(item === null);
    if (item === null) return;
    if (sameBag) {
      this.#selectItem();
      if (this.#pending !== null && editor.bag.range) editor.navigation.goToSegment(this.#pending);
      editor.refreshPanels();
      return;
    }
    editor.layers.node.classList.toggle("waiting", editor.bag === null);
    editor.bagSync.open(item, editor.data.preview ?? null).then(() => this.#preload());
  }

  /** Show a bag, or the same bag with changes; in that case zoom and selection stay. */
  show(bag) {
    const { editor } = this;
    const { selection } = editor;
    editor.layers.node.classList.remove("waiting");
    const another = bag.id !== editor.bag?.id;
    const moved = another || JSON.stringify(bag.extent) !== JSON.stringify(editor.bag.extent);
    const band = bag.view?.band ?? null;
    if (moved) editor.view = new Viewport(bag.extent, bag.kind, bag.opening, band);
    else if (String(band) !== String(editor.view.band)) editor.view.setBand(band);
    const before = new Map(moved ? [] : editor.bag.segments.map((segment) => [segment.id, segment]));
    editor.bag = bag;
    editor.suggestions.show(bag);
    for (const segment of bag.segments) this.#giveShape(segment, before.get(segment.id), moved);
    if (moved) editor.navigation.fit();
    if (another) selection.ids = [];
    else selection.keep(editor.bagSync.renamed);
    editor.numberSegmentClasses();
    if (another) this.#arrive();
    if (this.#pending !== null && selection.find(this.#pending)) this.#selectItem();
    if (editor.hovered !== null && !selection.find(editor.hovered)) editor.hovered = null;
    editor.backdrop.show(bag);
    editor.counters.note(bag);
    editor.refreshPanels();
  }

  showProblem(problem, retry = () => this.#retry()) {
    const { layers, notice, queue } = this.editor;
    if (problem.unauthorized) return;
    layers.node.classList.remove("waiting");
    if (problem.status === 410 && queue.total > 1) {
      queue.drop();
      this.open(queue.current);
      notice.show("A bag of this list was removed from the project.");
    } else notice.stay(problem.message, retry);
  }

  /** A person has selected something: the segment of the item is not waited for any more. */
  selectionChanged() {
    this.#pending = null;
  }

  #showEmpty(empty) {
    const { editor } = this;
    editor.emptyText.hidden = !empty;
    if (!empty) return;
    editor.emptyText.textContent = editor.mode === "tag"
      ? "Every bag of this list is finished. Choose “All” above to see the finished ones, or train a model."
      : "Nothing is left in this list. Choose another list above.";
    editor.layers.node.classList.remove("waiting");
    editor.bag = null;
    editor.painter.reset();
    editor.selection.ids = [];
    editor.bagSync.close();
    editor.refreshPanels();
  }

  #retry() {
    this.editor.notice.hide();
    this.editor.bagSync.open(this.editor.item, this.editor.data.preview ?? null);
  }

  async #preload() {
    const { api, bag, disposables, queue } = this.editor;
    for (const item of queue.upcoming()) {
      if (disposables.over || item[0] === bag?.id) continue;
      await api.preload(item, (one) => this.#firstTiles(one, item[1])).catch(() => {});
    }
  }

  /** The tiles a bag will be opened with, at a segment or at its beginning. */
  #firstTiles(bag, segment) {
    const view = new Viewport(bag.extent, bag.kind, bag.opening);
    if (segment !== null && bag.range) view.centreOn((bag.range.from + bag.range.to) / 2 - bag.extent.left);
    return tilesFor(bag.tiles, view, this.editor.view.plot.width * this.editor.layers.ratio).wanted;
  }

  /** Outlines that did not change keep their prepared shape. */
  #giveShape(segment, before, moved) {
    if (segment.shape && !moved) return;
    const same = before?.shape && String(before.rings) === String(segment.rings);
    segment.shape = same ? before.shape : makeShape(segment.rings, this.editor.view);
  }

  #arrive() {
    const { editor } = this;
    const { bag, selection } = editor;
    editor.playback.openBag(bag);
    editor.hovered = null;
    const before = editor.navigation.recall();
    if (editor.item[1] !== null) this.#selectItem();
    else selection.ids = before.filter((id) => selection.find(id));
    const n = bag.counts?.segments ?? bag.segments.length;
    const what = bag.kind === "sound" ? "Spectrogram" : "Picture";
    editor.layers.node.setAttribute("aria-label", `${what} of ${bag.name}, ${n} segments. Press ? for the keys.`);
    if (editor.data.autoplay) editor.playback.play();
    editor.queueNavigation.noteBag(bag.id);
    editor.bridge.reportBag();
  }

  /** Select the item's segment, or wait for it: of a long bag it may lie outside what is loaded. */
  #selectItem() {
    const { item, selection } = this.editor;
    const wanted = item[1];
    const here = wanted !== null && selection.find(wanted);
    this.#pending = wanted !== null && !here ? wanted : null;
    if (here) selection.select([wanted]);
  }
}
