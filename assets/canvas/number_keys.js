/**
 * Which class has which number key while a bag is on screen. A class keeps its number until another bag is opened:
 * numbers that are free go to classes that become likely, and none is given to another class. A class's own shortcut
 * always works; where it is a number, no other class has that number.
 *
 * Up to nine classes have the numbers of their places. Of more classes, those of the bag's tags come first, then the
 * likeliest of each segment that is selected. These would use up all numbers of a bag without tags after some segments,
 * so that there, and beside few tags, the first six go to what the model sees most of in the bag, when it is opened. A
 * number is never taken back: who presses it by habit must get the same class. What is left without one has the key of its
 * place among the guesses of the segment (`keys.js: guessForKey`). In tag mode the suggestions come first, then the bag's tags,
 * recent and frequent classes.
 */
const DIGITS = "123456789".split("");
const ALWAYS = 2; // best guesses of a segment that get a number however improbable they are
const SEEN = 6; // numbers of a bag with few tags or none that are given when it is opened
const SURELY_SEEN = 0.5; // segments of a class that are expected in a bag with tags, to give it a number beside these
const LIKELY = 0.1; // further ones from this probability on

export class NumberKeys {
  #bag = null;
  #digits = new Map(); // name of a class, or of a species that is none yet -> its number

  /** The number of a name, or "". */
  digitOf(name) {
    return this.#digits.get(name) ?? "";
  }

  /** Number the classes of a bag to label its segments, `selected` of which are about to be labelled; sets their `keys`. */
  forLabels(bag, selected = []) {
    const classes = this.#classesOf(bag);
    if (classes.length <= DIGITS.length) this.#byPlace(classes);
    else this.#give([...this.#first(bag), ...selected.flatMap((segment) => likelyOf(segment, bag))], bag, classes);
    this.#write(classes);
  }

  /**
   * Number suggestions and classes to tag a bag. `suggested`: names, the likeliest first; `waiting`: they are on their
   * way, and no number has a meaning yet; `recent`: ids of classes, the one to offer first in front.
   */
  forTags(bag, { suggested = [], waiting = false, recent = [] }) {
    const classes = this.#classesOf(bag);
    const few = classes.length <= DIGITS.length;
    if (!waiting) {
      if (few && (suggested.length === 0 || bag.kind === "picture") && this.#digits.size === 0) this.#byPlace(classes);
      this.#giveNames(suggested, classes);
      if (few) this.#giveNames(classes.map((c) => c.name), classes);
      else this.#give([...tagsOf(bag), ...recent], bag, classes);
    }
    this.#write(classes);
  }

  /** The bag's tags; where these are few, in a bag that was just opened, also what the model sees most of. */
  #first(bag) {
    const tags = tagsOf(bag);
    if (tags.length > DIGITS.length) return mostSeen(bag, tags);
    if (tags.length >= SEEN || this.#digits.size) return tags;
    const others = [...bag.classes.keys()].filter((id) => bag.tags[id] !== 1);
    return [...tags, ...mostSeen(bag, others, tags.length ? SURELY_SEEN : 0)].slice(0, SEEN);
  }

  #classesOf(bag) {
    if (bag.id !== this.#bag) this.#digits = new Map();
    this.#bag = bag.id;
    return [...bag.classes.values()];
  }

  /** The first nine have the numbers of their places, unless another class chose one. */
  #byPlace(classes) {
    const chosen = shortcutsOf(classes);
    const taken = new Set(this.#digits.values());
    classes.slice(0, DIGITS.length).forEach((c, place) => {
      const digit = DIGITS[place];
      if (!this.#digits.has(c.name) && !chosen.has(digit) && !taken.has(digit)) this.#digits.set(c.name, digit);
    });
  }

  /** Give free numbers to classes by id; those with a shortcut of their own need none. */
  #give(ids, bag, classes) {
    const found = ids.map((id) => bag.classes.get(id)).filter((c) => c && !c.shortcut);
    this.#giveNames(found.map((c) => c.name), classes);
  }

  #giveNames(names, classes) {
    const taken = new Set([...shortcutsOf(classes), ...this.#digits.values()]);
    const free = DIGITS.filter((digit) => !taken.has(digit));
    for (const name of names) if (!this.#digits.has(name) && free.length) this.#digits.set(name, free.shift());
  }

  #write(classes) {
    for (const c of classes) c.keys = [c.shortcut.toLowerCase(), this.digitOf(c.name)].filter(Boolean);
  }
}

function shortcutsOf(classes) {
  return new Set(classes.map((c) => c.shortcut.toLowerCase()).filter(Boolean));
}

/** Ids of the bag's tags, in the order of the classes. */
function tagsOf(bag) {
  return [...bag.classes.keys()].filter((id) => bag.tags[id] === 1);
}

/** Some classes, those first that the model sees most of in the bag, and `least` of; tags are returned in any case. */
function mostSeen(bag, ids, least = 0) {
  const seen = new Map();
  for (const [label, p] of bag.segments.flatMap((s) => s.guesses)) seen.set(label, (seen.get(label) ?? 0) + p);
  const found = ids.filter((id) => seen.get(id) >= least || bag.tags[id] === 1);
  return found.sort((a, b) => (seen.get(b) ?? 0) - (seen.get(a) ?? 0));
}

/** Ids of the likeliest classes of a segment; of one that has no prediction yet, those of the bag. */
function likelyOf(segment, bag) {
  const guesses = segment.guesses.length ? segment.guesses : bag.suggestions;
  return guesses.filter(([, p], place) => place < ALWAYS || p >= LIKELY).map(([label]) => label);
}
