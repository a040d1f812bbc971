/** Which segments are selected, which lies under the pointer, and the order in which a person steps through them. */
import { shapeAt } from "./shapes.js";

const REACH = 6; // pixels beside a tiny segment that still count as on it

export class Selection {
  constructor(board) {
    this.board = board;
    this.ids = [];
  }

  get segments() {
    return this.ids.map((id) => this.find(id)).filter(Boolean);
  }

  find(id) {
    return this.board.bag?.segments.find((segment) => segment.id === id) ?? null;
  }

  select(ids) {
    this.ids = ids;
    this.board.selectionChanged();
  }

  /** Add a segment to the selection, or take it out. */
  toggle(id) {
    this.select(this.ids.includes(id) ? this.ids.filter((other) => other !== id) : [...this.ids, id]);
  }

  /** The bag came anew: what is left of the selection stays, under the ids the server has given meanwhile. */
  keep(renamed) {
    const ids = this.ids.flatMap((id) => (this.find(id) ? [id] : (renamed.get(id) ?? [])));
    this.ids = ids.filter((id) => this.find(id));
  }

  /** The segment at a pixel, or null. */
  idAt(at) {
    const { bag, view } = this.board;
    if (!at || !bag || !view.contains(at.x, at.y)) return null;
    const { u, v } = view.planeAt(at.x, at.y);
    const { a, d } = view.matrix;
    return shapeAt(bag.segments.map((s) => [s.id, s.shape]), u, v, { u: REACH / Math.abs(a), v: REACH / Math.abs(d) });
  }

  /** Select the next or previous segment; false at the end where that is not wanted to go round. */
  step(by, { wrap = true } = {}) {
    const order = this.#inOrder();
    if (order.length === 0) return false;
    const now = order.findIndex((s) => s.id === this.ids.at(-1));
    const next = now < 0 ? (by > 0 ? 0 : order.length - 1) : now + by;
    if (!wrap && (next < 0 || next >= order.length)) return false;
    this.select([order[(next + order.length) % order.length].id]);
    return true;
  }

  /** Select the next segment that nobody has checked; false when there is none. */
  stepToUnchecked() {
    const order = this.#inOrder();
    const now = order.findIndex((s) => s.id === this.ids.at(-1));
    const next = [...order.slice(now + 1), ...order.slice(0, now + 1)].find((s) => s.label === null);
    if (next) this.select([next.id]);
    return Boolean(next);
  }

  /** The segment to go to when some are deleted. */
  neighbourAfter(ids) {
    const order = this.#inOrder();
    const last = order.findLastIndex((s) => ids.includes(s.id));
    const rest = [...order.slice(last + 1), ...order.slice(0, Math.max(last, 0)).reverse()];
    return rest.find((s) => !ids.includes(s.id))?.id ?? null;
  }

  /** From left to right, then from the top. */
  #inOrder() {
    const { bag, view } = this.board;
    const down = view.whole.v1 > view.whole.v0 ? 1 : -1;
    const top = ({ shape: { box } }) => (down > 0 ? box.v0 : -box.v1);
    return [...(bag?.segments ?? [])].sort((a, b) => a.shape.box.u0 - b.shape.box.u0 || top(a) - top(b));
  }
}
