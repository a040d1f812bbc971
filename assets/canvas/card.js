/** The card beside the pointer: the label of a segment, and the probabilities of its likeliest classes. */
import { labelColour } from "./colours.js";
import { element, nameOfClass, replaceWhenNew } from "./dom.js";
import { BACKGROUND, isChecked, isUnsure, statusOf } from "./segment_labels.js";

const MOST_GUESSES = 4;
const STATUSES = {
  threshold: "accepted by threshold, not checked",
  corrected: "corrected",
  accepted: "accepted",
  background: "background",
  unsure: "uncertain",
  contradicted: "contradicts the tags",
  predicted: "predicted",
  unlabelled: "no label yet",
};

export class Card {
  constructor(layers) {
    this.layers = layers;
    this.node = element("div", { class: "card", hidden: true, "aria-hidden": "true" });
  }

  show(segment, bag, at) {
    this.node.hidden = false;
    const signature = JSON.stringify([bag.id, bag.sure_from, segment.id, segment.label, segment.accepted, segment.checked_by, segment.conflict, segment.guesses, keysOf(segment, bag)]);
    replaceWhenNew(this.node, signature, () => this.#content(segment, bag));
    const right = at.x + 18 + this.node.offsetWidth < this.layers.width;
    const below = at.y + 14 + this.node.offsetHeight < this.layers.height;
    this.node.style.left = `${right ? at.x + 16 : Math.max(2, at.x - 14 - this.node.offsetWidth)}px`;
    this.node.style.top = `${below ? at.y + 12 : Math.max(2, at.y - 10 - this.node.offsetHeight)}px`;
  }

  hide() {
    this.node.hidden = true;
  }

  #content(segment, bag) {
    const title = segment.number ? `Segment ${segment.number}` : "New segment";
    const head = element("div", { class: "head" }, element("b", {}, title), element("span", {}, STATUSES[statusOf(segment, bag)]));
    const label = segment.label === null ? [] : [probabilityRow(segment.label, null, bag)];
    const conflict = segment.conflict ? [element("div", { class: "conflict" }, conflictText(segment.conflict, bag))] : [];
    return [head, ...label, ...conflict, ...segment.guesses.slice(0, MOST_GUESSES).map(([id, p]) => probabilityRow(id, p, bag))];
  }
}

/**
 * A class with its probability as a bar in its colour, and its key, or `otherKey` if it has none; without a probability
 * (null), its name alone.
 */
export function probabilityRow(label, probability, bag, otherKey = "") {
  const colour = labelColour(label, bag.classes);
  const swatch = element("span", { class: "swatch", style: { background: colour } });
  const name = nameOf(label, bag);
  const row = element("div", { class: "guess" }, swatch, nameOfClass(name, { title: name }));
  if (probability === null) {
    row.classList.add("given");
    return row;
  }
  const bar = element("span", { class: "bar" });
  bar.style.setProperty("--share", `${Math.round(100 * probability)}%`);
  bar.style.setProperty("--colour", colour);
  row.append(bar, element("span", { class: "percent" }, percent(probability)), keyCap(keyOf(label, bag) || otherKey));
  return row;
}

/** A key as it is drawn; an empty one keeps its place. */
function keyCap(key) {
  const cap = element("kbd", {}, key.toUpperCase());
  cap.classList.toggle("none", key === "");
  return cap;
}

/** The key that labels a segment with a class or the background, or "". */
function keyOf(label, bag) {
  return label === BACKGROUND ? "0" : (bag.classes.get(label)?.keys[0] ?? "");
}

/** The keys of a segment's likely labels. */
export function keysOf(segment, bag) {
  return segment.guesses.map(([label]) => keyOf(label, bag));
}

/** The two best guesses of a segment that the model is uncertain of: "? Wren 41 % · Robin 30 %". */
export function guessText(segment, bag, shorten = (name) => name) {
  const guesses = segment.guesses.slice(0, 2).map(([label, p]) => `${shorten(nameOf(label, bag))} ${percent(p)}`);
  return `? ${guesses.join(" · ")}`;
}

export function nameOf(label, bag) {
  if (label === null) return "no label";
  if (label === BACKGROUND) return "background";
  return bag.classes.get(label)?.name ?? "removed class";
}

export function percent(probability) {
  const rounded = Math.round(100 * probability);
  return probability < 0.995 && rounded === 100 ? "99 %" : `${rounded} %`;
}

/** How a labelled segment was checked. */
export function checkedText(segment) {
  if (!isChecked(segment)) return STATUSES.threshold;
  return segment.accepted ? STATUSES.accepted : STATUSES.corrected;
}

/** The labels that two annotators gave a segment: "Ann: Wren · Bob: Robin". */
export function conflictText({ ours, ours_by, theirs, theirs_by }, bag) {
  return `${ours_by || "here"}: ${nameOf(ours, bag)} · ${theirs_by || "copy"}: ${nameOf(theirs, bag)}`;
}

/** The same, and what Enter does: it keeps a label that a person gave, and accepts the prediction of other segments. */
export function conflictNote(segment, bag) {
  const keeps = isChecked(segment) ? ` Enter keeps ${nameOf(segment.label, bag)}.` : "";
  return `The annotators disagree. ${conflictText(segment.conflict, bag)}.${keeps}`;
}

/** What two annotators answered about a class of the bag: "Wren: present (Ann), absent (Bob)". */
export function tagConflictText({ class: classId, ours, ours_by, theirs_by }, bag) {
  const [here, there] = ours > 0 ? ["present", "absent"] : ["absent", "present"];
  return `${nameOf(classId, bag)}: ${here} (${ours_by || "here"}), ${there} (${theirs_by || "copy"}). Tag it, or finish the bag to keep its tags.`;
}

/** A segment in words, for the status line and for screen readers. */
export function describe(segment, bag) {
  const title = segment.number ? `Segment ${segment.number}` : "New segment";
  const status = statusOf(segment, bag);
  const conflict = segment.conflict ? `, conflict: ${conflictText(segment.conflict, bag)}` : "";
  if (segment.label !== null) return `${title}: ${nameOf(segment.label, bag)}, ${checkedText(segment)}${conflict}`;
  if (status === "unlabelled") return `${title}: ${STATUSES.unlabelled}${conflict}`;
  if (isUnsure(segment, bag)) return `${title}: ${guessText(segment, bag)}, ${STATUSES.unsure}${segment.contradicts ? `, ${STATUSES.contradicted}` : ""}`;
  const [label, p] = segment.guesses[0];
  return `${title}: ${nameOf(label, bag)} ${percent(p)}, ${status === "contradicted" ? STATUSES.contradicted : "predicted"}`;
}
