/** The wall in words: one segment, and what Enter will do with the screen. */
import { nameOf, percent } from "./card.js";
import { isChecked, isUnsure, labelOf } from "./segment_labels.js";

export function describeItem(item, marks, wall) {
  if (!item) return "Segment, loading";
  const guess = item.guesses.length ? ` ${percent(item.guesses[0][1])}` : "";
  const given = marks.labelOf(item.id);
  const mark = !marks.has(item.id) ? "" : given === null ? ", marked as wrong" : `, marked as ${nameOf(given, wall)}`;
  const checked = isChecked(item) ? ", checked" : isUnsure(item, wall) ? ", uncertain" : "";
  return `Segment ${item.number} of ${item.name}: ${nameOf(labelOf(item), wall)}${guess}${checked}${mark}`;
}

/**
 * What Enter will do with the segments on screen: `isOpen(id)` returns whether one has no label of a person yet,
 * `isGuess(id)` whether it has only an uncertain guess.
 */
export function screenSentence(screen, marks, isOpen, isGuess = () => false) {
  const marked = screen.filter((id) => marks.has(id));
  const unnamed = marked.filter((id) => marks.labelOf(id) === null).length;
  const accepted = screen.filter((id) => !marks.has(id) && isOpen(id));
  const rest = accepted.length;
  const guesses = accepted.filter(isGuess).length;
  const named = marked.length - unnamed;
  const accepts = rest ? `Enter accepts ${marked.length ? `the other ${rest}` : `these ${rest}`}` : named ? "Enter stores this screen" : "Enter goes to the next screen";
  const labels = named ? ` and labels ${named}` : "";
  const unsure = guesses ? `, ${guesses === rest ? "best guesses only" : `${guesses} of them by a best guess only`} (“?”)` : "";
  const hint = marked.length || !rest ? "" : " Click the wrong ones first.";
  const waiting = unnamed
    ? ` ${unnamed} marked without a class: press the key of a class, or 0 for background. Without one they stay unchecked and wait under “Marked”.`
    : "";
  return `${accepts}${unsure}${labels}.${hint}${waiting}`;
}
