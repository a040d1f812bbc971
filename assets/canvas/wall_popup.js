/** A large view of the picture segment under the pointer. */
import { element } from "./dom.js";

const MARGIN = 8;
const WIDTH = 360;
const HEIGHT = 270;

export class WallPopup {
  #asked = null;

  constructor(disposables, wall) {
    this.wall = wall;
    this.canvas = element("canvas", { width: 1, height: 1 });
    this.node = element("div", { class: "wall-popup", hidden: true, "aria-hidden": "true" }, this.canvas);
    disposables.atEnd(() => (this.#asked = null));
  }

  async show(id, tile) {
    this.#asked = id;
    const bitmap = await this.wall.api.largeCutout(id).catch(() => null);
    if (this.#asked !== id || bitmap === null || !tile.isConnected) return;
    this.canvas.width = bitmap.width;
    this.canvas.height = bitmap.height;
    this.canvas.getContext("2d").drawImage(bitmap, 0, 0);
    const area = this.wall.area.getBoundingClientRect();
    const at = tile.getBoundingClientRect();
    const right = at.right + MARGIN + WIDTH < area.right;
    const left = right ? at.right + MARGIN - area.left : at.left - area.left - MARGIN - WIDTH;
    const top = Math.min(Math.max(at.top - area.top + (at.height - HEIGHT) / 2, MARGIN), area.height - HEIGHT - MARGIN);
    Object.assign(this.node.style, { left: `${Math.max(MARGIN, left)}px`, top: `${top}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` });
    this.node.hidden = false;
  }

  hide() {
    this.#asked = null;
    this.node.hidden = true;
  }
}
