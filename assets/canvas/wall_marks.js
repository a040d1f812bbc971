/**
 * Which segments of the wall are marked as wrong, and what they are instead.
 *
 * A marked segment without a class is never stored: "not a Wren" is nothing that a model learns from here. It stays
 * unchecked and marked, in this tab, until somebody names it or takes the mark back.
 */
import { BACKGROUND, isChecked, labelOf } from "./segment_labels.js";
import { loadValue, saveValue } from "./session_store.js";

export class WallMarks {
  #key;
  #marks; // segment -> its right label, or null

  constructor(project) {
    this.#key = `bagtag.wall.marks.${project}`;
    this.#marks = new Map(loadValue(this.#key) ?? []);
  }

  get ids() {
    return [...this.#marks.keys()];
  }

  has(id) {
    return this.#marks.has(id);
  }

  /** The label given to a marked segment; null without one. */
  labelOf(id) {
    return this.#marks.get(id) ?? null;
  }

  toggle(id) {
    if (!this.#marks.delete(id)) this.#marks.set(id, null);
    this.#save();
  }

  mark(ids) {
    for (const id of ids) if (!this.#marks.has(id)) this.#marks.set(id, null);
    this.#save();
  }

  unmark(ids) {
    for (const id of ids) this.#marks.delete(id);
    this.#save();
  }

  /**
   * Give a label to the marked segments among `ids` that have none; if they all have one, to the one at the cursor,
   * marked or not. Returns the segments that got it.
   */
  assign(label, ids, cursor) {
    const open = ids.filter((id) => this.#marks.has(id) && this.#marks.get(id) === null);
    const chosen = open.length ? open : cursor === null ? [] : [cursor];
    this.give(label, chosen);
    return chosen;
  }

  give(label, ids) {
    for (const id of ids) this.#marks.set(id, label);
    this.#save();
  }

  /** The marks of some segments, to bring them back by `restore`. */
  of(ids) {
    return ids.filter((id) => this.has(id)).map((id) => [id, this.labelOf(id)]);
  }

  restore(saved) {
    for (const [id, label] of saved) this.#marks.set(id, label);
    this.#save();
  }

  #save() {
    saveValue(this.#key, [...this.#marks]);
  }
}

/** The edit that a screen becomes: `accept` as shown, `correct` as marked; null when there is nothing to store. */
export function screenEdit(items, marks) {
  const accept = items.filter((one) => !marks.has(one.id) && !isChecked(one) && labelOf(one) !== null);
  const correct = items.filter((one) => marks.has(one.id) && marks.labelOf(one.id) !== null);
  if (accept.length + correct.length === 0) return null;
  return {
    act: "label_many",
    accept: accept.map((one) => [one.id, labelOf(one)]),
    correct: correct.map((one) => [one.id, marks.labelOf(one.id)]),
  };
}

/** An item as it is after an edit of its screen. */
export function afterEdit(item, act) {
  const find = (pairs) => pairs.find(([id]) => id === item.id)?.[1];
  const accepted = find(act.accept);
  const label = find(act.correct) ?? accepted;
  return label === undefined ? item : { ...item, label, accepted: accepted !== undefined, checked_by: "eye" };
}

/**
 * Give classes their keys: each its own shortcut; the numbers go to the classes that this wall is likeliest to need,
 * those that the model takes its segments for besides the one they are predicted as, then the most used ones.
 */
export function wallKeys(classes, items, predicted) {
  const weights = new Map(classes.map((one) => [one.id, (one.bags ?? 0) / 1e6]));
  for (const { guesses } of items) {
    for (const [label, p] of guesses) weights.set(label, (weights.get(label) ?? 0) + p);
  }
  const taken = new Set(classes.map((one) => one.shortcut.toLowerCase()).filter(Boolean));
  const free = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].filter((key) => !taken.has(key));
  const order = classes.filter((one) => one.id !== predicted && one.id !== BACKGROUND).sort((a, b) => weights.get(b.id) - weights.get(a.id));
  const digits = new Map(order.slice(0, free.length).map((one, place) => [one.id, free[place]]));
  return classes.map((one) => ({ ...one, keys: [one.shortcut.toLowerCase(), digits.get(one.id)].filter(Boolean) }));
}
