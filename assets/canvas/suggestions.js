/**
 * The suggested tags of the bag on screen, and the number keys of tag mode.
 *
 * Suggestions of a sound come by a request of their own, because BirdNET may have to listen to it first: the bag opens
 * without waiting for them. Those of the next bags are fetched before they are asked for. Those of a picture are part
 * of the bag.
 *
 * Suggestions have the first number keys, in their order; then come the bag's tags, recent and frequent classes (the
 * classes in their order, if there are nine or fewer). Who has a key keeps it while the bag is on screen. As long as the
 * suggestions of a sound are on their way the number keys do nothing, so that no key changes its meaning under a finger.
 */
import { findClass } from "./edits.js";

const STRONG = 0.5;
const LEAST = 0.2; // of a picture: less probable tags are not suggested
const DIGITS = "123456789".split("");

export class Suggestions extends EventTarget {
  #bag = null; // the id of the bag on screen
  #found = null; // as the route sends them; null while they are on their way
  #digits = new Map(); // name of a class or species -> its number key
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

  /** Take a bag that is about to be shown: bring the suggestions in line with its classes and tags, and give out keys. */
  show(bag) {
    if (this.editor.mode !== "tag") return;
    if (bag.id !== this.#bag) this.#open(bag);
    const known = [...bag.classes.values()];
    const items = bag.kind === "sound" ? (this.#found?.items ?? []) : ofPicture(bag);
    this.entries = items.map((item) => entryOf(item, bag, known)).filter(Boolean);
    if (bag.kind === "sound") this.#giveKeys(bag, known);
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
    this.#digits = new Map();
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
    for (const [id] of queue.soon()) {
      if (this.#wanted !== null || this.editor.disposables.over) return;
      if (!api.knownSuggestions(id)) await api.suggestions(id).catch(() => {});
    }
  }

  #giveKeys(bag, classes) {
    const chosen = new Set(classes.map((c) => c.shortcut.toLowerCase()).filter(Boolean));
    if (!this.waiting) {
      const few = classes.length <= DIGITS.length;
      if (few && this.entries.length === 0 && this.#digits.size === 0) this.#keepOrder(classes);
      this.#assign(this.entries.map((one) => one.name), chosen);
      this.#assign((few ? classes : this.#likely(bag, classes)).map((c) => c.name), chosen);
    }
    for (const one of this.entries) one.digit = this.#digits.get(one.name) ?? "";
    for (const c of classes) {
      const digit = this.#digits.get(c.name);
      c.keys = [c.shortcut.toLowerCase(), digit].filter(Boolean);
    }
  }

  /** Without suggestions the few classes of a project have the numbers of their places. */
  #keepOrder(classes) {
    for (const c of classes) {
      const digit = c.keys.find((key) => key !== c.shortcut.toLowerCase());
      if (digit) this.#digits.set(c.name, digit);
    }
  }

  #assign(names, chosen) {
    const taken = new Set([...chosen, ...this.#digits.values()]);
    const free = DIGITS.filter((digit) => !taken.has(digit));
    for (const name of names) if (!this.#digits.has(name) && free.length) this.#digits.set(name, free.shift());
  }

  #likely(bag, classes) {
    const tagged = classes.filter((c) => bag.tags[c.id] === 1);
    const order = this.editor.commands.recent.order(classes).map((id) => bag.classes.get(id)).filter(Boolean);
    return [...tagged, ...order];
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
