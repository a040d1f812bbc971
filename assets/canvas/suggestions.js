/**
 * The suggested tags of the bag on screen, and the number keys of tag mode.
 *
 * Suggestions of a sound come by a request of their own, because BirdNET may have to listen to it first: the bag opens
 * without waiting for them. Those of the next bags are fetched before they are asked for. Those of a picture are part
 * of the bag.
 *
 * While the suggestions of a sound are being loaded the number keys do nothing, so that no key changes its meaning
 * under a finger; `number_keys.js` has the rules.
 */
import { findClass } from "./edits.js";

const STRONG = 0.5;
const LEAST = 0.1; // as in review/suggestions.py; of a picture: less probable tags are not suggested

export class Suggestions extends EventTarget {
  #bag = null; // the id of the bag on screen
  #found = null; // as the route sends them; null while they are being loaded
  #wanted = null; // the bag to ask for next
  #asking = false;

  constructor(editor) {
    super();
    this.editor = editor;
    this.entries = []; // { id, name, scientific_name, probability, source, digit, tag, colour }; id is null for no class yet
  }

  get waiting() {
    return this.editor.data.suggests === "beside" && this.#found === null;
  }

  /** A sentence about where the suggestions come from, or why there are none. */
  get note() {
    return this.#found?.note ?? "";
  }

  /** Those that "take suggestions" takes: of one half or more, not decided yet. */
  get strong() {
    return this.entries.filter((one) => one.probability >= STRONG && one.tag === undefined);
  }

  /** Take a bag that is about to be shown: bring the suggestions in line with its classes and tags, and number them. */
  show(bag) {
    if (this.editor.mode !== "tag") return;
    if (bag.id !== this.#bag) this.#open(bag);
    const known = [...bag.classes.values()];
    const items = bag.kind === "sound" ? (this.#found?.items ?? []) : ofPicture(bag);
    this.entries = items.map((item) => entryOf(item, bag, known)).filter(Boolean);
    const { commands, numberKeys } = this.editor;
    numberKeys.forTags(bag, { suggested: this.entries.map((one) => one.name), waiting: this.waiting, recent: commands.recent.order(known) });
    for (const one of this.entries) one.digit = numberKeys.digitOf(one.name);
  }

  /** Ask again: the model, the place or the classes have changed. */
  again() {
    if (this.#bag === null || !this.editor.data.suggests) return;
    this.#wanted = this.#bag;
    this.#ask();
  }

  /** The suggestion of a number key that is no class yet, or null. */
  forKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return null;
    return this.entries.find((one) => one.id === null && one.digit === event.key) ?? null;
  }

  #open(bag) {
    this.#bag = bag.id;
    if (bag.kind !== "sound") return;
    this.#found = this.editor.api.knownSuggestions(bag.id) ?? null;
    this.#wanted = bag.id;
    this.#ask();
  }

  /** Fetch the suggestions of the bag on screen, one request at a time: of bags that were passed over none is asked for. */
  async #ask() {
    if (this.#asking) return;
    this.#asking = true;
    while (this.#wanted !== null && !this.editor.disposables.over) {
      const id = this.#wanted;
      this.#wanted = null;
      const found = await this.editor.api.suggestions(id).catch((problem) => ({ items: [], note: problem.unauthorized ? "" : problem.message }));
      if (id === this.#bag) this.#take(found);
      if (this.#wanted === null) await this.#preload();
    }
    this.#asking = false;
  }

  #take(found) {
    this.#found = found;
    if (this.editor.bag?.id === this.#bag) this.editor.bagSync.compose();
  }

  async #preload() {
    const { api, queue } = this.editor;
    for (const [id] of queue.upcoming()) {
      if (this.#wanted !== null || this.editor.disposables.over) return;
      if (!api.knownSuggestions(id)) await api.suggestions(id).catch(() => {});
    }
  }
}

/** The model's suggestions of a picture, in the form the route of sounds has. */
function ofPicture(bag) {
  return bag.suggestions.filter(([, p]) => p >= LEAST).map(([id, probability]) => ({ class: id, probability, source: "", name: bag.classes.get(id)?.name ?? "" }));
}

/** A suggestion as it is now: its class may have been added, renamed or removed since. */
function entryOf(item, bag, classes) {
  const found = item.class === null ? findClass(classes, item.name, item.scientific_name) : bag.classes.get(item.class);
  if (!found && item.class !== null) return null;
  const { probability, source } = item;
  const names = { name: found?.name ?? item.name, scientific_name: (found?.scientific_name || item.scientific_name) ?? "" };
  return { id: found?.id ?? null, ...names, probability, source, digit: "", tag: found && bag.tags[found.id], colour: found?.colour ?? "" };
}
