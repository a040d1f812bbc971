/**
 * The list of bags or segments that a person works through.
 *
 * The list is fetched in batches and its order stays as it is, whatever is edited, until its query changes or a new list
 * is asked for: next and previous keep their meaning. List and position survive a visit to another page and a reload.
 *
 * A segment whose score changes between two batches may be missed, so a list of several batches is read from its start
 * a second time before it ends.
 */
import { loadValue, saveValue } from "./session_store.js";

const NEARLY_DONE = 15; // items left when the next batch is fetched

export class Queue extends EventTarget {
  #query = null;
  #after = null; // where the next batch begins
  #paged = false; // the list has more than one batch
  #secondPass = false;
  #fetching = null;
  #generation = 0;

  /** `fetchBatch(query)` resolves to `{ items, after }`; `name` is where list and position are stored. */
  constructor(fetchBatch, name) {
    super();
    this.fetchBatch = fetchBatch;
    this.name = name;
    this.items = [];
    this.index = 0;
    this.more = false; // the list continues beyond what has been fetched
  }

  get total() {
    return this.items.length;
  }

  /** The items behind the current one. */
  get left() {
    return Math.max(0, this.items.length - this.index - 1);
  }

  get current() {
    return this.items[this.index] ?? null;
  }

  /** Use the list of a query: the stored one if it was made for the same query and has items, else a new one. */
  async open(query) {
    const stored = loadValue(this.name);
    if (stored?.query !== JSON.stringify(query) || stored.items.length === 0) return this.renew(query);
    this.#generation += 1;
    this.#query = query;
    Object.assign(this, { items: stored.items, more: stored.more });
    this.#after = stored.after;
    this.#paged = stored.paged;
    this.#secondPass = stored.secondPass;
    this.index = Math.min(loadValue(`${this.name}.index`) ?? 0, Math.max(0, this.items.length - 1));
  }

  /** Fetch a new list and start at its first item. */
  async renew(query = this.#query) {
    const generation = ++this.#generation;
    const batch = await this.fetchBatch(query);
    if (generation !== this.#generation) return;
    this.#query = query;
    this.#paged = batch.after !== null;
    this.#secondPass = false;
    this.#after = batch.after;
    Object.assign(this, { items: batch.items, more: batch.after !== null, index: 0 });
    this.#save();
  }

  /** A list of a single item, which is not stored. */
  hold(item) {
    this.#generation += 1;
    Object.assign(this, { items: [item], index: 0, more: false });
  }

  /** The item `step` places on, or null at the end of what has been fetched. */
  at(step) {
    return this.items[this.index + step] ?? null;
  }

  move(step) {
    const item = this.at(step);
    if (item !== null) this.#place(this.index + step);
    if (this.more && this.left <= NEARLY_DONE) this.fetchMore().catch(() => {}); // tried again at the next step
    return item;
  }

  /** Make a bag the current item: where the list has it, or inserted before the current item. */
  goToBag(bag, segment = null) {
    const found = this.items.findIndex(([id, one]) => id === bag && (segment === null || one === segment));
    if (found < 0) this.items.splice(this.index, 0, [bag, segment]);
    this.#place(found < 0 ? this.index : found);
    if (found < 0) this.#save();
  }

  /** Remove the current item, because its bag is no longer in the project. */
  drop() {
    const [gone] = this.items[this.index];
    const before = this.items.slice(0, this.index).filter(([bag]) => bag === gone).length;
    this.items = this.items.filter(([bag]) => bag !== gone);
    this.#place(Math.min(this.index - before, Math.max(0, this.items.length - 1)));
    this.#save();
  }

  /** Fetch the next batch; concurrent calls share one request. */
  fetchMore() {
    this.#fetching ??= this.#extend(this.#generation).finally(() => (this.#fetching = null));
    return this.#fetching;
  }

  async #extend(generation) {
    const known = new Set(this.items.map(String));
    let added = 0;
    while (this.more && added === 0) {
      const query = this.#after === null ? this.#query : { ...this.#query, after: this.#after };
      const { items, after } = await this.fetchBatch(query);
      if (generation !== this.#generation) return;
      const fresh = items.filter((item) => !known.has(String(item)));
      this.items.push(...fresh);
      added = fresh.length;
      this.#after = after;
      if (after === null) {
        this.more = this.#paged && !this.#secondPass;
        this.#secondPass = true;
      }
    }
    this.#save();
    this.dispatchEvent(new Event("change"));
  }

  /** Items worth fetching before they are asked for, the likeliest first. */
  upcoming() {
    return [this.at(1), this.at(-1), this.at(2)].filter((item) => item !== null);
  }

  #place(index) {
    this.index = index;
    if (this.#query !== null) saveValue(`${this.name}.index`, index);
  }

  #save() {
    if (this.#query === null) return;
    const { items, more } = this;
    const [after, paged, secondPass] = [this.#after, this.#paged, this.#secondPass];
    saveValue(this.name, { query: JSON.stringify(this.#query), items, more, after, paged, secondPass });
    this.#place(this.index);
  }
}
