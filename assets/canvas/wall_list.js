/**
 * The segments of a wall: their ids, which come once and stay in their order; what is known of each; their cut-outs.
 *
 * Facts and cut-outs are fetched for what is on screen, then for the next screen, so that nobody waits for it.
 */
const ITEMS_AT_ONCE = 120;
const CUTOUTS_AT_ONCE = 12;
const MOST_REQUESTS = 3;
const KEPT_CUTOUTS = 900; // 85 kB each, once decoded

/** Dispatches "items" and "cutouts" when something arrived, "problem" when the server does not respond. */
export class WallList extends EventTarget {
  #wanted = [];
  #running = 0;
  #failed = 0;
  #asked = new Set();
  #askedItems = new Set();
  #generation = 0;

  constructor(api) {
    super();
    this.api = api;
    this.ids = [];
    this.items = new Map();
    this.cutouts = new Map(); // segment -> ImageBitmap, or a sentence about why there is none
    this.gone = new Set(); // segments that do not exist any more
  }

  /** Show other segments; what is known of them stays. */
  open(ids) {
    this.#generation += 1;
    this.ids = ids;
    this.gone.clear();
    this.#wanted = [];
  }

  /** Fetch what is missing of these segments, the most urgent first. */
  want(ids) {
    this.#wanted = ids;
    this.#fetch();
  }

  isShown(id) {
    return this.items.has(id) && this.cutouts.has(id);
  }

  change(id, item) {
    this.items.set(id, item);
  }

  /** Ask the server again about segments whose edit was refused. */
  forget(ids) {
    for (const id of ids) this.items.delete(id);
    this.#fetch();
  }

  #fetch() {
    while (this.#running < MOST_REQUESTS) {
      const items = this.#next((id) => !this.items.has(id) && !this.#askedItems.has(id), ITEMS_AT_ONCE);
      const cutouts = items.length ? [] : this.#next((id) => !this.cutouts.has(id) && !this.#asked.has(id), CUTOUTS_AT_ONCE);
      if (items.length) this.#run(items, this.#askedItems, () => this.#fetchItems(items));
      else if (cutouts.length) this.#run(cutouts, this.#asked, () => this.#fetchCutouts(cutouts));
      else return;
    }
  }

  #next(isMissing, most) {
    const found = [];
    for (const id of this.#wanted) {
      if (found.length === most) break;
      if (!this.gone.has(id) && isMissing(id)) found.push(id);
    }
    return found;
  }

  async #run(ids, asked, fetchThem) {
    this.#running += 1;
    for (const id of ids) asked.add(id);
    try {
      await fetchThem();
      this.#failed = 0;
    } catch (problem) {
      this.#failed += 1;
      this.dispatchEvent(new CustomEvent("problem", { detail: problem }));
      await pause(Math.min(400 * 2 ** this.#failed, 10_000));
    } finally {
      for (const id of ids) asked.delete(id);
      this.#running -= 1;
    }
    this.#fetch();
  }

  async #fetchItems(ids) {
    const generation = this.#generation;
    const { items } = await this.api.wallItems(ids);
    for (const item of items) this.items.set(item.id, item);
    const found = new Set(items.map((item) => item.id));
    if (generation === this.#generation) for (const id of ids) if (!found.has(id)) this.gone.add(id);
    this.dispatchEvent(new Event("items"));
  }

  async #fetchCutouts(ids) {
    const { pictures, problems } = await this.api.cutouts(ids);
    for (const [id, bitmap] of pictures) this.#keep(id, bitmap);
    for (const id of ids) if (!this.cutouts.has(id)) this.#keep(id, problems.get(id) ?? "This segment does not exist any more.");
    this.dispatchEvent(new Event("cutouts"));
  }

  #keep(id, cutout) {
    this.cutouts.set(id, cutout);
    const onScreen = this.cutouts.size > KEPT_CUTOUTS ? new Set(this.#wanted) : null;
    for (const [oldest, bitmap] of onScreen ? this.cutouts : []) {
      if (this.cutouts.size <= KEPT_CUTOUTS) break;
      if (onScreen.has(oldest)) continue;
      this.cutouts.delete(oldest);
      bitmap.close?.();
    }
  }
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
