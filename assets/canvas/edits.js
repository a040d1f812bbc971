/**
 * What an edit does to the bag on screen, before the server has acknowledged it.
 *
 * The bag on screen is the bag as last fetched with the other edits applied on top; an edit whose
 * outcome only the server knows (split, undo) changes nothing here and shows when the bag is fetched again.
 */
import { countLabels, isChecked, isClass } from "./segment_labels.js";

const NEW_COLOUR = "#9aa3ad"; // of a class, until the server has chosen one
const LONGEST_NAME = 200;
const UNLABELLED = { label: null, accepted: false, annotator: null, checked_by: null, conflict: null };

/** The bag with an edit applied, unless it is an edit of another bag; never changes the bag it was given. */
export function withEdit(bag, edit) {
  const perform = (edit.act.bag ?? bag.id) === bag.id ? performers[edit.act.act] : undefined;
  return perform ? withOpenConflicts(withContradictions(perform(bag, edit.act, edit))) : bag;
}

/** Mark the segments for which the model, not knowing the tags, predicts a class that the bag is tagged as without. */
function withContradictions(bag) {
  const untagged = bag.finished && !bag.rest_unknown ? -1 : 0;
  const contradicts = ({ free }) => isClass(free) && (bag.tags[free] ?? untagged) < 0;
  const changed = bag.segments.filter((s) => s.contradicts !== contradicts(s)).map((s) => s.id);
  return changed.length ? changeSegments(bag, changed, (s) => ({ ...s, contradicts: contradicts(s) })) : bag;
}

/** A conflict of tags is open as long as the bag's answer is the one that it had. */
function withOpenConflicts(bag) {
  const untagged = bag.finished && !bag.rest_unknown ? -1 : 0;
  const open = (bag.conflicts ?? []).filter((one) => (bag.tags[one.class] ?? untagged) === one.ours);
  return open.length === (bag.conflicts ?? []).length ? bag : { ...bag, conflicts: open };
}

/** The bag with edits done, one after another, and its counts brought along where not all its segments are here. */
export function withEdits(bag, edits) {
  const edited = edits.reduce(withEdit, bag);
  return bag.counts && edited !== bag ? { ...edited, counts: countsAfter(bag, edited) } : edited;
}

function countsAfter(before, after) {
  const { segments, checked, labels, unsure, density } = before.counts;
  const [was, is] = [countLabels(before), countLabels(after)];
  const counted = { ...labels };
  for (const [counts, sign] of [[was.labels, -1], [is.labels, 1]]) {
    for (const [label, n] of counts) counted[label] = (counted[label] ?? 0) + sign * n;
  }
  return {
    segments: segments + after.segments.length - before.segments.length,
    checked: checked + after.segments.filter(isChecked).length - before.segments.filter(isChecked).length,
    labels: Object.fromEntries(Object.entries(counted).filter(([, n]) => n !== 0)),
    unsure: unsure + is.unsure - was.unsure,
    density,
  };
}

const FULLY_KNOWN = ["correct", "accept", "accept_bag", "tag", "finish", "unfinish", "nothing_here", "delete"];

const OF_ALL_SEGMENTS = ["accept_bag", "tag", "finish", "nothing_here"];

/**
 * Does the server know more about this edit than `withEdit` does: a new shape, what "@7" has become, or (where
 * only some segments are here, `partly`) what became of the others?
 */
export function needsFetch(act, partly = false) {
  const named = [act.class, act.label, ...(act.segments ?? [])];
  if (partly && OF_ALL_SEGMENTS.includes(act.act)) return true;
  return !FULLY_KNOWN.includes(act.act) || named.some((name) => typeof name === "string");
}

const performers = {
  correct(bag, act, { annotator }) {
    const by = act.label === null ? null : annotator;
    const changed = changeSegments(bag, act.segments, (s) => ({ ...s, label: act.label, accepted: false, annotator: by, checked_by: by === null ? null : "eye", conflict: act.label === null && s.label === null ? s.conflict : null }));
    return isClass(act.label) ? { ...changed, tags: { ...bag.tags, [act.label]: 1 } } : changed;
  },
  accept(bag, act, { annotator }) {
    const chosen = bag.segments.filter((s) => act.segments.includes(s.id));
    if (chosen.some((s) => s.guesses.length === 0)) return bag; // the server refuses
    return withTagsOfLabels(changeSegments(bag, act.segments, acceptedBy(annotator)), act.segments);
  },
  accept_bag(bag, act, { annotator }) {
    const open = bag.segments.filter((s) => !isChecked(s) && s.guesses.length && s.guesses[0][1] >= (act.sure_from ?? 0)).map((s) => s.id);
    return withTagsOfLabels(changeSegments(bag, open, acceptedBy(annotator)), open);
  },
  delete(bag, act) {
    return { ...bag, segments: bag.segments.filter((s) => !act.segments.includes(s.id)) };
  },
  draw(bag, act, { annotator, number }) {
    const name = `@${number}`;
    const label = act.label ?? null;
    const drawn = newSegment(name, act.rings.map(flat), { label, accepted: false, annotator: label === null ? null : annotator, checked_by: label === null ? null : "eye" });
    return withTagsOfLabels({ ...bag, segments: [...bag.segments, drawn] }, [name]);
  },
  redraw(bag, act) {
    return changeSegments(bag, [act.segment], (s) => ({ ...s, rings: act.rings.map(flat), shape: undefined }));
  },
  merge(bag, act, { number }) {
    const parts = act.segments.map((id) => bag.segments.find((s) => s.id === id)).filter(Boolean);
    const others = bag.segments.filter((s) => !act.segments.includes(s.id));
    const labelled = parts.filter((s) => s.label !== null);
    const agreed = new Set(labelled.map((s) => s.label)).size === 1;
    const given = agreed ? labelled[0] : UNLABELLED;
    return { ...bag, segments: [...others, newSegment(`@${number}`, parts.flatMap((s) => s.rings), given)] };
  },
  tag(bag, act) {
    const cleared = withoutLabels(bag, act);
    if (cleared === null) return bag;
    const tags = { ...bag.tags };
    if (act.value === 0) delete tags[act.class];
    else tags[act.class] = act.value;
    return { ...cleared, tags, conflicts: (bag.conflicts ?? []).filter((one) => one.class !== act.class) };
  },
  tag_by_name(bag, act, { number }) {
    const name = cleanName(act.name);
    const wanted = [name, act.scientific_name ?? ""];
    if (name === "" || name.length > LONGEST_NAME) return bag; // the server refuses
    const known = findClass(bag.classes, ...wanted);
    if (known) return { ...bag, tags: { ...bag.tags, [known.id]: 1 } };
    const made = { id: `@${number}`, name, colour: NEW_COLOUR, shortcut: "", scientific_name: wanted[1], bags: 1 };
    return { ...bag, classes: [...bag.classes, made], tags: { ...bag.tags, [made.id]: 1 } };
  },
  finish(bag, act) {
    const finished = { ...bag, finished: true, rest_unknown: act.rest === "unknown", conflicts: [] };
    return act.rest === "unknown" ? finished : withoutUnseen(finished, (label) => bag.tags[label] !== 1);
  },
  unfinish(bag) {
    return { ...bag, finished: false, rest_unknown: false };
  },
  nothing_here(bag, act) {
    const cleared = withoutLabels(bag, act);
    return cleared === null ? bag : { ...cleared, tags: {}, finished: true, rest_unknown: false, conflicts: [] };
  },
};

/** The class of the first of these names that is the name or scientific name of one; undefined when there is none. */
export function findClass(classes, ...names) {
  const isCalled = (key) => (c) => nameKey(c.name) === key || nameKey(c.scientific_name) === key;
  return names.map(nameKey).filter(Boolean).map((key) => classes.find(isCalled(key))).find(Boolean);
}

function cleanName(name) {
  return name.normalize("NFC").trim().replace(/\s+/gu, " ");
}

/** A name for comparisons, as the server compares them: without letter case and repeated spaces. */
function nameKey(name) {
  return cleanName(name.normalize("NFKC").toUpperCase().toLowerCase());
}

function acceptedBy(annotator) {
  return (segment) => ({ ...segment, label: segment.guesses[0][0], accepted: true, annotator, checked_by: "eye", conflict: null });
}

/** Will the server ask to confirm this act, because it clears labels that a person gave to segments that are here? */
export function needsConfirmation(bag, act) {
  return !act.confirm && bag.segments.some((s) => isChecked(s) && isCleared(s.label, act));
}

/** Does this act remove the tag of a label, so that segments lose the label too? */
function isCleared(label, act) {
  if (act.act === "nothing_here") return isClass(label);
  return act.act === "tag" && act.value !== 1 && label === act.class;
}

/** The bag without the labels whose tags go; null when the server will ask for a confirmation first. */
function withoutLabels(bag, act) {
  if (needsConfirmation(bag, act)) return null;
  const carriers = bag.segments.filter((s) => isCleared(s.label, act));
  return changeSegments(bag, carriers.map((s) => s.id), (s) => ({ ...s, ...UNLABELLED }));
}

/** The bag without labels that a threshold gave and that its tags exclude now. */
function withoutUnseen(bag, goes) {
  const unseen = bag.segments.filter((s) => isClass(s.label) && !isChecked(s) && goes(s.label)).map((s) => s.id);
  return changeSegments(bag, unseen, (s) => ({ ...s, ...UNLABELLED }));
}

function withTagsOfLabels(bag, ids) {
  const tags = { ...bag.tags };
  for (const segment of bag.segments) if (ids.includes(segment.id) && isClass(segment.label)) tags[segment.label] = 1;
  return { ...bag, tags };
}

function changeSegments(bag, ids, change) {
  return { ...bag, segments: bag.segments.map((s) => (ids.includes(s.id) ? change(s) : s)) };
}

function newSegment(id, rings, { label, accepted, annotator, checked_by }) {
  return { id, number: 0, rings, label, accepted, annotator, checked_by, conflict: null, contradicts: false, free: null, guesses: [], origin: "drawn" };
}

function flat(ring) {
  return ring.flat();
}
