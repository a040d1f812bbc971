/** The bags (or segments of bags) a page offers one after another: a window of a list that may be very long. */
export class Queue {
  constructor() {
    this.items = [];
    this.first = 0;
    this.total = 0;
    this.more = false; // the list goes on beyond what the page has fetched so far
    this.index = 0;
  }

  /** Take the page's list; `here` is the item on screen, which keeps its place if the list has it. */
  update({ items = [], first = 0, total = items.length, index = 0, more = false } = {}, here = null) {
    Object.assign(this, { items, first, total, more });
    const found = here === null ? -1 : items.findIndex((item) => same(item, here));
    this.index = found >= 0 ? found : Math.min(Math.max(index - first, 0), Math.max(items.length - 1, 0));
  }

  get position() {
    return this.first + this.index;
  }

  /** The item `step` places on, or null at the end of the list. */
  at(step) {
    return this.items[this.index + step] ?? null;
  }

  move(step) {
    const item = this.at(step);
    if (item !== null) this.index += step;
    return item;
  }

  /** Items worth fetching before they are asked for, the likeliest first. */
  soon() {
    return [this.at(1), this.at(-1), this.at(2)].filter((item) => item !== null);
  }
}

function same(a, b) {
  return a[0] === b[0] && (a[1] ?? null) === (b[1] ?? null);
}
