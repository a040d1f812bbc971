/** Beside the canvas (in tag mode below it): the selected segment, the counters, "Refresh list" and "Retrain". */
import { checkedText, conflictNote, keysOf, nameOf, percent, probabilityRow, tagConflictText } from "./card.js";
import { selectionText } from "./commands.js";
import { element, replaceWhenNew } from "./dom.js";
import { guessKey } from "./keys.js";
import { isChecked, isUnsure } from "./segment_labels.js";
import { counted, grouped } from "./text.js";

const CERTAIN = 0.5;

export class SidePanel {
  constructor(disposables, editor) {
    this.editor = editor;
    this.segment = element("section", { class: "segment-panel" });
    this.tags = element("section", { class: "tag-panel" });
    this.numbers = element("section", { class: "numbers" });
    this.refreshList = this.#button(disposables, "Refresh list", "Order the list again, with the predictions and edits as they are now.", () => editor.queueNavigation.renew());
    this.retrain = this.#button(disposables, "Retrain", "Learns from all labels and tags, in the background: continue reviewing meanwhile.", () => editor.counters.retrain());
    this.buttons = element("div", { class: "panel-buttons" }, this.retrain, this.refreshList);
    this.hint = element("p", { class: "note" });
    this.node = element("aside", { class: "side", "aria-label": "Selected segment, suggestions and progress" }, editor.suggestionPanel.node, this.segment, this.tags, this.numbers, this.buttons, this.hint);
    disposables.listen(editor.counters, "change", () => this.update());
  }

  update() {
    const { mode } = this.editor;
    const review = mode === "review";
    this.node.hidden = !review && mode !== "tag";
    if (this.node.hidden) return;
    this.segment.hidden = !review;
    this.tags.hidden = review;
    if (review) this.#updateSegment();
    else this.#updateTags();
    this.#updateNumbers(review);
    this.#updateRetrain(review);
  }

  #button(disposables, label, title, act) {
    const button = element("button", { type: "button", title }, label);
    disposables.listen(button, "click", () => {
      act();
      this.editor.layers.node.focus({ preventScroll: true });
    });
    return button;
  }

  // the selected segment

  #updateSegment() {
    const { bag, selection } = this.editor;
    const { segments } = selection;
    const reasons = segments.length === 1 ? reasonsFor(segments[0], bag) : [];
    const shown = segments.map((s) => [s.id, s.label, s.accepted, s.checked_by, s.annotator, s.guesses, s.contradicts, s.conflict, s.number]);
    const names = bag ? [...bag.classes.values()].map((c) => [c.name, c.colour]) : [];
    const keys = segments.length === 1 ? keysOf(segments[0], bag) : [];
    replaceWhenNew(this.segment, JSON.stringify([bag?.id, bag?.sure_from, shown, reasons, names, keys]), () => {
      if (segments.length === 0) return [note("Click a segment, or press → to step through them. Press ? for all keyboard shortcuts.")];
      if (segments.length > 1) return [element("h3", {}, selectionText(segments, bag))];
      return segmentContent(segments[0], bag, reasons);
    });
  }

  // the tags of the bag

  #updateTags() {
    const { bag } = this.editor;
    const reasons = bag ? reasonsOf(bag) : [];
    const conflicts = (bag?.conflicts ?? []).map((one) => tagConflictText(one, bag));
    replaceWhenNew(this.tags, JSON.stringify([bag?.id, conflicts, reasons, reasons.map((one) => nameOf(one.class, bag))]), () => {
      const differing = conflicts.map((text) => note(text, "warning"));
      if (reasons.length === 0) return differing;
      const parts = reasons.map((one) => this.#reasonButton(one, bag));
      return [...differing, element("span", { class: "caption" }, "Where the model finds the tags:"), ...parts];
    });
  }

  #reasonButton(reason, bag) {
    const go = () => this.editor.navigation.goToSegment(reason.segment);
    return element("button", { type: "button", class: "reason", onclick: go }, `${nameOf(reason.class, bag)}: segment ${reason.number}`);
  }

  // counters

  #updateNumbers(review) {
    const { counters, queue } = this.editor;
    const { session, values } = counters;
    const rows = [["Left in list", `${grouped(queue.left)}${queue.more ? "+" : ""}`, ""]];
    if (review) rows.push(["This session", `${grouped(session.checked)} checked`, "Segments labelled or accepted in this tab."]);
    else rows.push(["This session", `${grouped(session.finished)} finished`, "Bags finished in this tab."]);
    if (values && review) rows.push(["Checked", `${grouped(values.checked)} of ${grouped(values.segments)}`, "Segments of the whole project."], ...accuracyRows(values));
    const finished = values && !review ? [values.finished, values.bags] : null;
    const caption = values && review ? accuracyCaption(values) : "";
    replaceWhenNew(this.numbers, JSON.stringify([rows, caption, finished]), () => [
      ...(finished ? [progressBar(...finished)] : []),
      element("dl", {}, ...rows.map(([name, value, title]) => element("div", { title }, element("dt", {}, name), element("dd", {}, value)))),
      ...(caption ? [note(caption)] : []),
    ]);
  }

  #updateRetrain(review) {
    const { problem, values } = this.editor.counters;
    const n = values?.new_labels ?? 0;
    this.retrain.hidden = !review;
    this.retrain.disabled = values === null || values.training;
    this.retrain.textContent = values?.training ? "Training …" : "Retrain";
    this.retrain.classList.toggle("strong", n > 0 && !values?.training);
    const since = n ? `${counted(n, "new edit")} since the model was trained.` : "";
    this.hint.textContent = review ? problem || since : "";
    this.hint.hidden = this.hint.textContent === "";
  }
}

function segmentContent(segment, bag, reasons) {
  const title = segment.number ? `Segment ${segment.number}` : "New segment";
  const head = element("h3", {}, title, element("span", {}, statusText(segment, bag)));
  const conflict = segment.conflict ? [note(conflictNote(segment, bag), "warning")] : [];
  if (segment.guesses.length === 0) return [head, ...conflict, note("There is no prediction for it yet.")];
  return [
    head,
    ...conflict,
    ...segment.guesses.map(([label, p], place) => probabilityRow(label, p, bag, guessKey(place))),
    ...reasons.map((one) => note(reasonText(one, bag), "reason")),
    ...(segment.contradicts ? [note(`Without the tags the model would predict ${nameOf(segment.free, bag)}.`, "warning")] : []),
  ];
}

function statusText(segment, bag) {
  if (isUnsure(segment, bag)) return "? uncertain";
  if (segment.label === null) return "not checked";
  const by = segment.annotator ? ` by ${segment.annotator}` : "";
  return `${nameOf(segment.label, bag)}, ${checkedText(segment)}${by}`;
}

/** The reasons that still hold after the edits that are not acknowledged yet. */
function reasonsOf(bag) {
  const labels = new Map(bag.segments.map((s) => [s.id, isChecked(s) ? s.label : null]));
  const holds = (one) => [undefined, null, one.class].includes(labels.get(one.segment));
  return (bag.reasons ?? []).filter((one) => bag.tags[one.class] === 1 && holds(one));
}

function reasonsFor(segment, bag) {
  return reasonsOf(bag).filter((one) => one.segment === segment.id);
}

function reasonText({ class: classId, probability, concept, concepts }, bag) {
  const why = probability >= CERTAIN ? "This is why" : "Of all segments this is the likeliest reason why";
  const kind = concepts > 1 ? ` (sub-concept ${concept} of ${concepts})` : "";
  return `${why} the ${bag.kind === "sound" ? "clip" : "picture"} is tagged ${nameOf(classId, bag)}${kind}.`;
}

function accuracyRows({ sample, all }) {
  if (sample.n) return [["Accuracy", percent(sample.accuracy), `${sample.n_right} of ${sample.n} randomly drawn segments were predicted correctly by the current run.`]];
  if (!all.n) return [];
  const title = `${all.n_right} of the ${all.n} segments checked since the current run were predicted correctly. Uncertain segments come first, so this is lower than the true accuracy.`;
  return [["Correct so far", percent(all.accuracy), title]];
}

function accuracyCaption({ sample, all }) {
  const range = ({ low, high }) => `${percent(low)} to ${percent(high)} (95 %)`;
  if (sample.n) return `${range(sample)}, from a random sample of ${sample.n}.`;
  if (all.n) return `${range(all)}, of ${all.n} checked. The random sample gives an unbiased estimate.`;
  return "No prediction of the current run is checked yet.";
}

function progressBar(done, total) {
  const bar = element("span", { class: "bar" });
  bar.style.setProperty("--share", `${total ? (100 * done) / total : 0}%`);
  return element("div", { class: "progress" }, element("span", {}, `${grouped(done)} of ${counted(total, "bag")} finished`), bar);
}

function note(text, kind = "") {
  return element("p", { class: `note ${kind}` }, text);
}
