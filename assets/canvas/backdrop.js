/** The picture behind the segments of the bag on screen: one photograph, or the tiles of a spectrogram in view. */
import { adjusted } from "./level_image.js";
import { paintImage } from "./paint.js";
import { paintTiles, tilesFor } from "./tiles.js";

const MOST_AT_ONCE = 4;

export class Backdrop {
  #name = null;
  #bag = null;
  #single = null;
  #adjusted = null; // the photograph in another contrast: { of, name, picture }
  #colours = null; // of a sound's levels
  #wanted = []; // [level, tile], the most urgent first
  #onTheWay = new Set();
  #failed = false;

  constructor(editor) {
    this.editor = editor;
  }

  /** Take the picture that belongs to a bag: at once where it is known, else as soon as it comes. */
  show(bag) {
    const name = `${bag.id}/${bag.image}`;
    this.#bag = bag;
    if (this.#name === name) return;
    this.#name = name;
    this.#failed = false;
    this.#wanted = [];
    this.#single = bag.tiles ? null : (this.editor.api.knownImage(bag.id, bag.image) ?? null);
    if (!bag.tiles && !this.#single) this.#fetchSingle(name);
  }

  /** Are all tiles of the view here? (A single picture counts as one.) */
  get complete() {
    if (!this.#bag?.tiles) return this.#single !== null;
    return tilesFor(this.#bag.tiles, this.editor.view, this.#pixels).wanted.every(([level, tile]) => this.known(level, tile));
  }

  known(level, tile) {
    return this.editor.api.knownTile(this.#bag.id, this.#bag.image, level, tile);
  }

  /** A tile in the colours of the project and the contrast of this browser; undefined while it is not here. */
  picture(level, tile) {
    return this.known(level, tile)?.colouredWith(this.#colours);
  }

  paint(ctx) {
    const { contrast, view, layers } = this.editor;
    if (this.#single) paintImage(ctx, view, this.#adjustedPicture());
    if (!this.#bag?.tiles) return;
    this.#colours = contrast.ofSound(this.#bag.view);
    paintTiles(ctx, view, this.#bag.tiles, (level, tile) => this.picture(level, tile), this.#pixels, layers.ratio);
    this.#fetchTiles();
  }

  #adjustedPicture() {
    const table = this.editor.contrast.ofPicture();
    const isKept = this.#adjusted?.of === this.#single && this.#adjusted.name === table.name;
    if (!isKept) this.#adjusted = { of: this.#single, name: table.name, picture: adjusted(this.#single, table) };
    return this.#adjusted.picture;
  }

  get #pixels() {
    return this.editor.view.plot.width * this.editor.layers.ratio;
  }

  async #fetchSingle(name) {
    const { api, layers } = this.editor;
    try {
      const bitmap = await api.image(this.#bag.id, this.#bag.image);
      if (!this.#isWanted(name)) return;
      this.#single = bitmap;
      layers.refresh("base");
    } catch (problem) {
      this.#report(problem, name);
    }
  }

  /** What is in view first, then the whole bag for the overview, then what lies beside the view. */
  #fetchTiles() {
    const { wanted, beside } = tilesFor(this.#bag.tiles, this.editor.view, this.#pixels);
    this.#wanted = [...wanted, ...(this.editor.overview.shown ? [[this.#bag.tiles.top, 0]] : []), ...beside];
    this.#pump();
  }

  #pump() {
    if (this.#failed) return;
    for (const [level, tile] of this.#wanted) {
      if (this.#onTheWay.size >= MOST_AT_ONCE) return;
      const name = `${this.#name}/${level}/${tile}`;
      if (!this.#onTheWay.has(name) && !this.known(level, tile)) this.#fetchTile(name, level, tile);
    }
  }

  async #fetchTile(name, level, tile) {
    const of = this.#name;
    this.#onTheWay.add(name);
    try {
      await this.editor.api.tile(this.#bag.id, this.#bag.image, level, tile);
      if (this.#isWanted(of)) this.editor.layers.refresh("base");
    } catch (problem) {
      this.#report(problem, of);
    } finally {
      this.#onTheWay.delete(name);
      if (this.#isWanted(of)) this.#pump();
    }
  }

  #isWanted(name) {
    return this.#name === name && !this.editor.disposables.over;
  }

  #report(problem, name) {
    if (!this.#isWanted(name) || this.#failed) return;
    this.#failed = true;
    this.editor.notice.stay(problem.message, () => this.#again());
  }

  #again() {
    this.editor.notice.hide();
    this.#name = null;
    this.show(this.editor.bag);
    this.editor.layers.refresh("base");
  }
}
