/** Where the tiles of a wall are: rows of equal tiles in a window that scrolls over them. */

export const GAP = 4;
const LEAST_WIDTH = 106;
const SMALLEST_WIDTH = 84; // in a small window, which would have few tiles otherwise
const ENOUGH = 60; // tiles on a screen
const SHAPE = 3 / 4; // height of a tile by its width

export class WallLayout {
  constructor(width, height, count) {
    this.width = width;
    this.height = height;
    this.count = count;
    const most = Math.floor((width + GAP) / (SMALLEST_WIDTH + GAP));
    this.#divide(Math.max(1, Math.floor((width + GAP) / (LEAST_WIDTH + GAP))));
    while (this.columns < most && this.columns * this.perScreen < ENOUGH) this.#divide(this.columns + 1);
    this.rows = Math.ceil(count / this.columns);
  }

  #divide(columns) {
    this.columns = columns;
    this.tileWidth = (this.width - GAP * (columns - 1)) / columns;
    this.tileHeight = this.tileWidth * SHAPE;
    this.step = this.tileHeight + GAP; // from one row to the next
    this.perScreen = Math.max(1, Math.floor((this.height + GAP) / this.step));
  }

  /** Height of everything. */
  get total() {
    return Math.max(0, this.rows * this.step - GAP);
  }

  place(index) {
    const row = Math.floor(index / this.columns);
    return { x: (index % this.columns) * (this.tileWidth + GAP), y: row * this.step };
  }

  /** [first, last) of the tiles of which anything is to be seen at a scroll position, and `more` rows around them. */
  range(scroll, more = 0) {
    const first = Math.floor(scroll / this.step) - more;
    const last = Math.ceil((scroll + this.height) / this.step) + more;
    return this.#tiles(first, last);
  }

  /** [first, last) of the tiles that are seen whole; at least one row, where even one does not fit. */
  screen(scroll) {
    const first = Math.ceil(Math.round(scroll) / this.step - 0.02);
    const last = Math.floor((Math.round(scroll) + this.height + GAP) / this.step + 0.02);
    return this.#tiles(first, Math.max(last, first + 1));
  }

  /** The scroll position at which the row of a tile is the first one. */
  scrollTo(index) {
    return Math.floor(index / this.columns) * this.step;
  }

  /** The scroll position at which a tile is seen whole, nearest to the present one. */
  reveal(index, scroll) {
    const { y } = this.place(index);
    if (y < scroll) return y;
    return y + this.tileHeight > scroll + this.height ? y + this.tileHeight - this.height : scroll;
  }

  #tiles(first, last) {
    const within = (row) => Math.min(Math.max(0, row), this.rows);
    return [within(first) * this.columns, Math.min(within(last) * this.columns, this.count)];
  }
}
