/**
 * Which segments are selected, which lies under the pointer, and the order in which a person steps through them.
 *
 * Of a long bag only some segments are here (`bag.range`): a step beyond them asks the server which one is next.
 */
import { shapeAt } from "./shapes.js";

const REACH = 6; // pixels beside a tiny segment that still count as on it
const MOST_TRIES = 20; // segments that were checked here but not yet on the server may come up as unchecked

export class Selection {
  #asking = false;
  #last = null; // the segment known to be the last of its bag, in the direction stepped
  constructor(editor) {
    this.editor = editor;
    this.ids = [];
  }

  get segments() {
    return this.ids.map((id) => this.find(id)).filter(Boolean);
  }

  find(id) {
    return this.editor.bag?.segments.find((segment) => segment.id === id) ?? null;
  }

  select(ids) {
    this.ids = ids;
    this.editor.selectionChanged();
  }

  /** Add a segment to the selection, or take it out. */
  toggle(id) {
    this.select(this.ids.includes(id) ? this.ids.filter((other) => other !== id) : [...this.ids, id]);
  }

  /** The bag was fetched again: what is left of the selection stays, under the ids the server has given meanwhile. */
  keep(renamed) {
    const ids = this.ids.flatMap((id) => (this.find(id) ? [id] : (renamed.get(id) ?? [])));
    this.ids = ids.filter((id) => this.find(id));
  }

  /** The segment at a pixel, or null. */
  idAt(at) {
    const { bag, view } = this.editor;
    if (!at || !bag || !view.contains(at.x, at.y)) return null;
    const { u, v } = view.planeAt(at.x, at.y);
    const { a, d } = view.matrix;
    return shapeAt(bag.segments.map((s) => [s.id, s.shape]), u, v, { u: REACH / Math.abs(a), v: REACH / Math.abs(d) });
  }

  /** Select the next or previous segment; false at the end where that is not wanted to go round. */
  step(by, { wrap = true } = {}) {
    const order = this.#inOrder();
    if (this.editor.bag?.range) return this.#stepFar(order, by, wrap);
    if (order.length === 0) return false;
    const now = order.findIndex((s) => s.id === this.ids.at(-1));
    const next = now < 0 ? (by > 0 ? 0 : order.length - 1) : now + by;
    if (!wrap && (next < 0 || next >= order.length)) return false;
    this.select([order[(next + order.length) % order.length].id]);
    return true;
  }

  /** A step where only some segments are here; without a selection in view it begins at the edge of the view. */
  #stepFar(order, by, wrap) {
    const { from, to } = this.editor.navigation.range;
    const current = this.ids.at(-1);
    const now = order.findIndex((s) => s.id === current && !(s.edges?.[1] < from || s.edges?.[0] > to));
    const inView = by > 0 ? order.find((s) => s.edges?.[0] >= from) : order.findLast((s) => s.edges?.[0] <= to);
    const next = now < 0 ? inView : order[now + by];
    if (next && this.#isLoaded(next)) this.select([next.id]);
    else if (!wrap && this.#last === `${current}/${by}`) return false;
    else this.#askFor({ step: by, wrap: Number(wrap), ...this.#origin(now < 0 ? null : current, by > 0 ? from : to) });
    return true;
  }

  /** Are all segments that begin between the loaded range's start and this one here? */
  #isLoaded({ edges }) {
    const { from, to, detail } = this.editor.bag.range;
    return !edges || (detail !== "none" && edges[0] >= from && edges[0] <= to);
  }

  #origin(id, at) {
    return typeof id === "number" ? { after: id } : { at };
  }

  /** Go to the segment that the server names; true when there is one. */
  async #askFor(query) {
    if (this.#asking) return true;
    this.#asking = true;
    const { editor } = this;
    const bag = editor.bag.id;
    try {
      const found = await editor.api.nextSegment(bag, query);
      if (editor.bag.id !== bag) return true;
      if (found === null) this.#last = `${query.after}/${query.step}`;
      return found !== null && (await editor.navigation.goToSegment(found));
    } catch (problem) {
      editor.notice.show(problem.message);
      return true;
    } finally {
      this.#asking = false;
    }
  }

  async #askForUnchecked() {
    const bag = this.editor.bag.id;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const origin = this.#origin(this.ids.at(-1), this.editor.navigation.range.from);
      if (!(await this.#askFor({ step: 1, unchecked: 1, ...origin }))) break;
      if (this.editor.bag.id !== bag || this.segments.some((s) => s.label === null)) return;
    }
    this.editor.announceAllChecked();
  }

  /** Select the next segment that nobody has checked; false when there is none. */
  stepToUnchecked() {
    const order = this.#inOrder();
    const now = order.findIndex((s) => s.id === this.ids.at(-1));
    if (this.editor.bag?.range) {
      const near = order.slice(now + 1).find((s) => s.label === null);
      if (near && now >= 0 && this.#isLoaded(near) && this.#isLoaded(order[now])) this.select([near.id]);
      else this.#askForUnchecked();
      return true;
    }
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
    const { bag, view } = this.editor;
    const down = view.whole.v1 > view.whole.v0 ? 1 : -1;
    const left = ({ edges, shape }) => edges?.[0] ?? shape.box.u0 + view.extent.left;
    const top = ({ edges, shape: { box } }) => (edges ? -edges[3] : down > 0 ? box.v0 : -box.v1);
    return [...(bag?.segments ?? [])].sort((a, b) => left(a) - left(b) || top(a) - top(b) || (a.edges ? a.id - b.id : 0));
  }
}
