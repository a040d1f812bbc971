/** The numbers of the side panel: those of the project from the server, those of this session counted here. */
import { isChecked } from "./segment_labels.js";
import { loadValue, saveValue } from "./session_store.js";

const FETCH_AFTER = 300; // milliseconds after the last change

export class Counters extends EventTarget {
  #timer = null;
  #revision = null;
  #sessionKey;
  #bags; // bag -> [checked when first seen, checked now, finished when first seen, finished now]

  constructor(disposables, { api, outbox, project }) {
    super();
    this.api = api;
    this.values = null; // as the route `counters` sends them
    this.problem = "";
    this.#sessionKey = `bagtag.session.${project}`;
    this.#bags = loadValue(this.#sessionKey) ?? {};
    disposables.listen(outbox, "stored", () => this.refresh());
    disposables.atEnd(() => clearTimeout(this.#timer));
  }

  /** Segments checked and bags finished in this tab. */
  get session() {
    const rows = Object.values(this.#bags);
    const sum = (first, now) => Math.max(0, rows.reduce((total, row) => total + row[now] - row[first], 0));
    return { checked: sum(0, 1), finished: sum(2, 3) };
  }

  /** Note the state of the bag on screen. */
  note(bag) {
    const checked = bag.counts?.checked ?? bag.segments.filter(isChecked).length;
    const finished = Number(bag.finished);
    const before = this.#bags[bag.id];
    if (before?.[1] === checked && before?.[3] === finished) return;
    this.#bags[bag.id] = before ? [before[0], checked, before[2], finished] : [checked, checked, finished, finished];
    saveValue(this.#sessionKey, this.#bags);
  }

  /** The project is at this revision; the numbers are fetched again if it is a new one, or while a model is trained. */
  changedTo(revision) {
    if (revision === this.#revision && !this.values?.training) return;
    this.#revision = revision;
    this.refresh();
  }

  refresh() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fetch(), FETCH_AFTER);
  }

  async retrain() {
    this.values = { ...this.values, training: true };
    this.#changed("");
    try {
      await this.api.retrain();
    } catch (problem) {
      this.#changed(problem.message);
    }
    this.refresh();
  }

  async #fetch() {
    try {
      this.values = await this.api.counters();
      this.#changed(this.problem);
    } catch {
      // The status line shows when the server cannot be reached; the next change tries again.
    }
  }

  #changed(problem) {
    this.problem = problem;
    this.dispatchEvent(new Event("change"));
  }
}
