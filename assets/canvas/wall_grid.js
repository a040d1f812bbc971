/** The tiles of a wall. Only those in sight are in the page, however long the wall is. */
import { labelColour } from "./colours.js";
import { percent } from "./card.js";
import { element } from "./dom.js";
import { isChecked, isUnsure, labelOf } from "./segment_labels.js";
import { shorten } from "./text.js";
import { WallLayout } from "./wall_layout.js";

const LONGEST_NAME = 13; // letters beside the percentage
const HOVER_AFTER = 130; // milliseconds that the pointer rests on a tile

export class WallGrid {
  #tiles = new Map(); // segment -> its element
  #frame = 0;
  #hover = null;

  constructor(disposables, wall) {
    this.wall = wall;
    this.layout = new WallLayout(1, 1, 0);
    this.space = element("div", { class: "space", role: "presentation" });
    this.node = element("div", { class: "wall-grid", tabIndex: 0, role: "listbox", "aria-multiselectable": "true", "aria-label": "Segments" }, this.space);
    disposables.listen(this.node, "scroll", () => this.refresh(), { passive: true });
    disposables.listen(this.space, "click", (event) => this.#click(event));
    disposables.listen(this.space, "pointerover", (event) => this.#over(event));
    disposables.listen(this.node, "pointerleave", () => this.#over(null));
    disposables.listen(this.space, "dragstart", (event) => this.#drag(event));
    disposables.watchSize(this.node, () => this.measure());
    disposables.atEnd(() => {
      cancelAnimationFrame(this.#frame);
      clearTimeout(this.#hover?.timer);
    });
  }

  /** Segments that are seen whole. */
  get screen() {
    return this.wall.list.ids.slice(...this.layout.screen(this.node.scrollTop));
  }

  measure() {
    const keep = this.layout.screen(this.node.scrollTop)[0];
    const before = this.layout.columns;
    this.layout = new WallLayout(this.node.clientWidth, this.node.clientHeight, this.wall.list.ids.length);
    this.space.style.height = `${this.layout.total}px`;
    if (before !== this.layout.columns) this.node.scrollTop = this.layout.scrollTo(keep);
    this.refresh();
  }

  /** Another list: begin at its beginning. */
  reset() {
    for (const tile of this.#tiles.values()) tile.remove();
    this.#tiles.clear();
    this.node.scrollTop = 0;
    this.measure();
  }

  scrollTo(index) {
    this.node.scrollTop = this.layout.scrollTo(index);
    this.refresh();
  }

  reveal(index) {
    this.node.scrollTop = this.layout.reveal(index, this.node.scrollTop);
    this.refresh();
  }

  refresh() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const { list } = this.wall;
    const [first, last] = this.layout.range(this.node.scrollTop, 1);
    const shown = new Set(list.ids.slice(first, last));
    for (const [id, tile] of this.#tiles) {
      if (shown.has(id)) continue;
      tile.remove();
      this.#tiles.delete(id);
    }
    for (let index = first; index < last; index += 1) this.#drawTile(list.ids[index], index);
    this.wall.scrolled();
  }

  #drawTile(id, index) {
    let tile = this.#tiles.get(id);
    if (!tile) {
      tile = makeTile(id);
      this.#tiles.set(id, tile);
      this.space.append(tile);
    }
    const { x, y } = this.layout.place(index);
    tile.style.width = `${this.layout.tileWidth}px`;
    tile.style.height = `${this.layout.tileHeight}px`;
    tile.style.transform = `translate(${x}px, ${y}px)`;
    this.#fill(tile, id);
  }

  #fill(tile, id) {
    const { list, marks, cursor, classes } = this.wall;
    const playing = this.wall.playback.segment;
    const item = list.items.get(id);
    const cutout = list.cutouts.get(id);
    if (tile.cutout !== cutout) paint(tile, cutout);
    const marked = marks.has(id);
    const given = marks.labelOf(id);
    const label = given ?? (item ? labelOf(item) : null);
    const checked = Boolean(item) && isChecked(item);
    const unsure = Boolean(item) && given === null && isUnsure(item, this.wall);
    const shows = JSON.stringify([item, marked, given, id === cursor, this.wall.query?.predicted, id === playing, list.gone.has(id), unsure]);
    if (tile.dataset.shows === shows) return;
    tile.dataset.shows = shows;
    tile.classList.toggle("marked", marked);
    tile.classList.toggle("named", given !== null);
    tile.classList.toggle("checked", checked && !marked);
    tile.classList.toggle("cursor", id === cursor);
    tile.classList.toggle("playing", id === playing);
    tile.classList.toggle("gone", list.gone.has(id));
    tile.style.setProperty("--colour", labelColour(unsure ? null : label, classes));
    tile.setAttribute("aria-selected", String(marked));
    tile.setAttribute("aria-label", this.wall.describe(id));
    const another = label !== null && (given !== null || label !== this.wall.query?.predicted);
    const name = another ? this.wall.nameOf(label) : "";
    tile.name.textContent = unsure ? `? ${shorten(name, LONGEST_NAME)}` : shorten(name, LONGEST_NAME);
    tile.name.hidden = !another && !unsure;
    tile.sign.textContent = marked ? "✕" : checked ? "✓" : item?.checked_by === "threshold" ? "≥" : "";
    tile.percent.textContent = item?.guesses.length && !marked ? percent(item.guesses[0][1]) : "";
  }

  #idOf(event) {
    const tile = event?.target.closest?.(".tile");
    return tile ? Number(tile.dataset.segment) : null;
  }

  #click(event) {
    const id = this.#idOf(event);
    if (id === null) return;
    this.node.focus({ preventScroll: true });
    this.wall.commands.clickAt(id, event.shiftKey);
  }

  #over(event) {
    const id = this.#idOf(event);
    if (id === (this.#hover?.id ?? null)) return;
    clearTimeout(this.#hover?.timer);
    this.wall.leave();
    this.#hover = id === null ? null : { id, timer: setTimeout(() => this.wall.showHovered(id, this.#tiles.get(id)), HOVER_AFTER) };
  }

  /** A tile that is dragged to a class is marked; marked ones go with it. */
  #drag(event) {
    const id = this.#idOf(event);
    if (id === null) return;
    this.wall.leave();
    event.dataTransfer.setData("text/plain", String(id));
    event.dataTransfer.effectAllowed = "copy";
  }
}

function makeTile(id) {
  const canvas = element("canvas", { width: 1, height: 1 });
  const [name, sign, share] = ["name", "sign", "percent"].map((part) => element("span", { class: part }));
  const tile = element("div", { class: "tile waiting", role: "option", id: `segment-${id}`, draggable: true, "data-segment": String(id) }, canvas, sign, name, share);
  return Object.assign(tile, { canvas, name, sign, percent: share });
}

/** Draw a cut-out, or the sentence about why there is none. */
function paint(tile, cutout) {
  tile.cutout = cutout;
  tile.classList.toggle("waiting", cutout === undefined);
  const broken = typeof cutout === "string";
  tile.classList.toggle("broken", broken);
  tile.title = broken ? cutout : "";
  if (cutout === undefined || broken) return;
  tile.canvas.width = cutout.width;
  tile.canvas.height = cutout.height;
  tile.canvas.getContext("2d").drawImage(cutout, 0, 0);
}
