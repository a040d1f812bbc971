/**
 * What a segment counts as: the label a person gave; else the model's best guess, if it is at least as probable as the
 * project's threshold (`bag.sure_from`); else nothing firm ("?", with the two best guesses).
 */
export const BACKGROUND = -2;

/** Is this label a class, stored or not yet ("@7")? Else it is the background, or no label (null). */
export function isClass(label) {
  return label !== null && label !== BACKGROUND;
}

/** The label a person gave, else the model's best guess however improbable, else null. */
export function labelOf(segment) {
  if (segment.label !== null) return segment.label;
  return segment.guesses.length ? segment.guesses[0][0] : null;
}

export function confidenceOf(segment) {
  if (segment.label !== null) return 1;
  return segment.guesses.length ? segment.guesses[0][1] : 0;
}

/** Has a person who saw the segment given or accepted its label? A threshold may have accepted it instead. */
export function isChecked(segment) {
  return segment.label !== null && segment.checked_by !== "threshold";
}

/** Has a person checked it, and has nobody whose copy was merged labelled it differently? */
export function isDecided(segment) {
  return isChecked(segment) && !segment.conflict;
}

/** Has the model a guess that is not probable enough to be called a label, while no person has given one? */
export function isUnsure(segment, bag) {
  return segment.label === null && segment.guesses.length > 0 && segment.guesses[0][1] < (bag.sure_from ?? 0);
}

/** The label to show as firm, or null. */
export function shownLabel(segment, bag) {
  return isUnsure(segment, bag) ? null : labelOf(segment);
}

/** One of "threshold", "corrected", "accepted", "background", "unsure", "contradicted", "predicted", "unlabelled". */
export function statusOf(segment, bag) {
  if (segment.label === BACKGROUND) return "background";
  if (segment.checked_by === "threshold") return "threshold";
  if (segment.label !== null) return segment.accepted ? "accepted" : "corrected";
  if (isUnsure(segment, bag)) return "unsure";
  if (segment.contradicts) return "contradicted";
  if (segment.guesses.length === 0) return "unlabelled";
  return segment.guesses[0][0] === BACKGROUND ? "background" : "predicted";
}

/** How many segments of a bag have which firm label (a Map), and how many are uncertain. */
export function countLabels(bag) {
  const labels = new Map();
  let unsure = 0;
  for (const segment of bag.segments) {
    const label = shownLabel(segment, bag);
    if (label !== null) labels.set(label, (labels.get(label) ?? 0) + 1);
    else if (isUnsure(segment, bag)) unsure += 1;
  }
  return { labels, unsure };
}
