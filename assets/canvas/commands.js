/** What a person does to the bag on screen: every edit goes to the outbox and is drawn at once. */
import { describe, nameOf } from "./card.js";
import { needsConfirmation } from "./edits.js";
import { RecentClasses } from "./recent_classes.js";
import { BACKGROUND, isChecked, isUnsure, shownLabel } from "./segment_labels.js";
import { counted } from "./text.js";

const SMALLEST_DRAWING = 5; // pixels

export class Commands {
  constructor(editor) {
    this.editor = editor;
    this.recent = new RecentClasses(editor.data.project);
    editor.disposables.listen(editor.outbox, "stored", ({ detail }) => this.#stored(detail.done));
    editor.disposables.listen(editor.outbox, "change", () => this.#hideAnswered());
  }

  get mayEdit() {
    return this.editor.bag !== null && !this.editor.isOpening && ["review", "segment", "tag"].includes(this.editor.mode);
  }

  /** Queue an act of the bag on screen and show what it does. */
  do(act) {
    const { outbox, bagSync, data } = this.editor;
    if (!this.mayEdit) return null;
    const edit = outbox.add(act, this.editor.bag.id, data.annotator, bagSync.revision);
    bagSync.compose();
    return edit;
  }

  // labels

  label(label) {
    const segments = this.#selectedIds("Select a segment first: click it, or press the arrow keys.");
    if (!segments) return;
    this.do({ act: "correct", segments, label, sampled: this.#sampled(segments) });
    this.editor.announce(`${segments.length > 1 ? `${segments.length} segments` : "Segment"}: ${nameOf(label, this.editor.bag)}`);
  }

  labelBackground() {
    this.label(BACKGROUND);
  }

  /** Label the selected segment with one of its guesses, by its place among them; whether there is such a guess. */
  labelByGuess(place) {
    const { segments } = this.editor.selection;
    const guess = segments.length === 1 ? segments[0].guesses[place] : undefined;
    if (!guess || !this.mayEdit) return false;
    this.label(guess[0]);
    return true;
  }

  /** Accept the predictions of the selected segments and go on: in the list, or (`inBag`) to the next unchecked of the bag. */
  accept({ inBag = false } = {}) {
    const segments = this.#selectedIds("Select a segment first: click it, or press the arrow keys.");
    if (!segments) return;
    const kept = this.editor.selection.segments.filter((s) => isChecked(s) && s.conflict);
    for (const { id, label } of kept) this.do({ act: "correct", segments: [id], label, sampled: false });
    const open = this.editor.selection.segments.filter((s) => !isChecked(s));
    const guessed = open.filter((s) => s.guesses.length).map((s) => s.id);
    if (guessed.length) this.do({ act: "accept", segments: guessed, sampled: this.#sampled(guessed) });
    else if (open.length) {
      this.editor.notice.show("There is no prediction to accept yet: give the segment a label, or train a model first.");
      return;
    }
    const { item, queueNavigation } = this.editor;
    if (!inBag && item[1] !== null) queueNavigation.goToUnchecked();
    else this.editor.goToUnchecked();
  }

  /** Show the segments most like the selected one on the wall. */
  showSimilar() {
    const segments = this.#selectedIds("Select a segment first: click it, or press the arrow keys.");
    if (!segments) return;
    if (typeof segments[0] === "number") this.editor.bridge.showSimilar(segments[0]);
    else this.editor.notice.show("This segment is not saved yet: try again in a moment.");
  }

  /** Accept all predictions of the bag that are shown as labels; uncertain ones stay open. */
  acceptBag() {
    if (!this.mayEdit) return;
    const { bag } = this.editor;
    const open = bag.counts ? bag.counts.segments - bag.counts.checked - bag.counts.unsure : bag.segments.filter((s) => !isChecked(s) && s.guesses.length && !isUnsure(s, bag)).length;
    const unsure = bag.counts?.unsure ?? bag.segments.filter((s) => isUnsure(s, bag)).length;
    const left = unsure ? `; ${unsure} uncertain, left open` : "";
    if (open) this.do({ act: "accept_bag", bag: bag.id, sure_from: bag.sure_from });
    this.editor.notice.show(open ? `${counted(open, "segment")} accepted${left}.` : `Nothing to accept in this bag${left}.`);
  }

  find() {
    const { editor } = this;
    const tagging = editor.mode === "tag";
    if (!tagging && !this.#selectedIds("Select a segment first: click it, or press the arrow keys.")) return;
    editor.classSearch.show({
      classes: this.#likelyFirst(),
      at: editor.placeOfSelection(),
      mayCreate: tagging,
      choose: (found, name) => this.#found(found, name),
    });
  }

  #found(found, name) {
    if (found && this.editor.mode === "tag") this.setTag(found.id, 1);
    else if (found) this.label(found.id);
    else this.#createAndTag(name);
  }

  #createAndTag(name, scientific_name = "") {
    this.do({ act: "tag_by_name", bag: this.editor.bag.id, name, scientific_name });
    this.editor.announce(`${name} added and tagged`);
  }

  /** The bag's tags and the likely classes of the segment first, then the others in their order. */
  #likelyFirst() {
    const { bag } = this.editor;
    const [segment] = this.editor.selection.segments;
    const likely = [...(segment?.guesses ?? []), ...bag.suggestions].map(([label]) => label);
    const tagged = [...bag.classes.keys()].filter((id) => bag.tags[id] === 1);
    const suggested = this.editor.suggestions.entries.map((one) => one.id);
    const first = this.editor.mode === "tag" ? [...suggested, ...this.recent.order(bag.classes.values())] : [...likely, ...tagged];
    const ids = new Set([...first, ...bag.classes.keys()]);
    return [...ids].map((id) => bag.classes.get(id)).filter(Boolean);
  }

  // tags

  toggleTag(classId) {
    this.setTag(classId, this.editor.bag.tags[classId] === 1 ? 0 : 1);
  }

  setTag(classId, value) {
    const { bag } = this.editor;
    this.do({ act: "tag", bag: bag.id, class: classId, value });
    if (value === 1 && typeof classId === "number") this.recent.note(classId);
    this.editor.announce(`${nameOf(classId, this.editor.bag)} ${value === 1 ? "tagged" : "not tagged"}`);
  }

  /** Tag the bag with a suggestion, or remove that tag; a species that is not a class yet becomes one. */
  toggleSuggestion(one) {
    if (one.id !== null) this.toggleTag(one.id);
    else this.#acceptSuggestion(one);
  }

  #acceptSuggestion({ id, name, scientific_name }) {
    if (id === null) this.#createAndTag(name, scientific_name);
    else this.setTag(id, 1);
  }

  acceptSuggestions() {
    const { strong } = this.editor.suggestions;
    for (const one of strong) this.#acceptSuggestion(one);
    this.editor.announce(strong.length ? `${counted(strong.length, "suggested tag")} accepted` : "No suggestion has a probability of 50 % or more");
  }

  finish(rest) {
    if (this.do({ act: "finish", bag: this.editor.bag.id, rest })) this.editor.goBy(1);
  }

  /** Finish the bag without tags and go to the next one; if the server will ask to confirm that, go there after it. */
  nothingHere() {
    const { bag } = this.editor;
    const act = { act: "nothing_here", bag: bag.id };
    const asks = needsConfirmation(bag, act);
    if (this.do(act) && !asks) this.editor.goBy(1);
  }

  // shapes

  /** A hand-drawn line or outline, in pixels, has been finished with the tool in use. */
  drawn(points) {
    const { tools, view } = this.editor;
    if (extentOf(points) < SMALLEST_DRAWING) return;
    const line = points.map(({ x, y }) => view.insideAt(x, y)).map(({ x, y }) => [round(x), round(y)]);
    if (tools.current === "split") this.#split(line);
    else if (tools.current === "redraw") this.#redraw(line);
    else this.#draw(line);
  }

  #draw(ring) {
    const edit = this.do({ act: "draw", bag: this.editor.bag.id, rings: [ring] });
    if (edit) this.editor.selection.select([`@${edit.number}`]);
  }

  #redraw(ring) {
    const [segment] = this.editor.selection.ids;
    this.do({ act: "redraw", segment, rings: [ring] });
    this.editor.tools.use("select");
  }

  #split(line) {
    const [segment] = this.editor.selection.ids;
    this.do({ act: "split", segment, line });
    this.editor.tools.use("select");
  }

  merge() {
    const segments = this.editor.selection.ids;
    if (segments.length < 2) {
      this.editor.notice.show("Shift+click another segment, then press M to merge them.");
      return;
    }
    const edit = this.do({ act: "merge", segments });
    if (edit) this.editor.selection.select([`@${edit.number}`]);
  }

  remove() {
    const segments = this.#selectedIds("Select a segment first: click it, or press the arrow keys.");
    if (!segments) return;
    const next = this.editor.selection.neighbourAfter(segments);
    this.do({ act: "delete", segments });
    this.editor.selection.select(next === null ? [] : [next]);
    this.editor.announce(segments.length > 1 ? `${segments.length} segments deleted` : "Segment deleted");
  }

  // history

  undo() {
    this.do({ act: "undo", bag: this.editor.bag.id });
  }

  redo() {
    this.do({ act: "redo", bag: this.editor.bag.id });
  }

  // responses

  #stored(done) {
    for (const { edit, result } of done) {
      if (edit.act.act === "tag_by_name" && result.created?.length) this.recent.note(result.created[0]);
      if (["undo", "redo"].includes(edit.act.act) && result.sentence) this.editor.announce(result.sentence);
    }
  }

  /** The server refused an act or asks to confirm it, or the act replaced something the person had not seen. */
  explain({ result, question }) {
    const { notice } = this.editor;
    if (result.setAside) return; // shown under the canvas until it is tried again or discarded
    if (question) this.#ask(question);
    else if (result.error) notice.show(result.error);
    else notice.show(result.overtook.join(" "));
  }

  /**
   * Ask over the picture, if it shows the bag of the question and no other question. All other questions are listed
   * under the canvas, so that a key which is meant for the bag on screen never answers them.
   */
  #ask(question) {
    const { bag, notice, outbox } = this.editor;
    if (!this.mayEdit || question.edit.bag !== bag.id || outbox.questions.includes(notice.question)) return;
    notice.ask(question, (agrees) => this.#answer(question, agrees));
  }

  #answer(question, agrees) {
    const { bagSync, outbox } = this.editor;
    outbox.answer(question, agrees);
    bagSync.compose();
    if (agrees && question.edit.act.act === "nothing_here") this.editor.goBy(1);
  }

  /** Hide a question that was answered in another place, or that a later edit replaced. */
  #hideAnswered() {
    const { notice, outbox } = this.editor;
    if (notice.question !== null && !outbox.questions.includes(notice.question)) notice.hide();
  }

  #selectedIds(otherwise) {
    if (this.editor.isOpening) return null; // the key was meant for the bag that is being opened
    if (this.editor.selection.ids.length) return [...this.editor.selection.ids];
    this.editor.notice.show(otherwise);
    return null;
  }

  #sampled(segments) {
    const { data, item } = this.editor;
    return Boolean(data.sampled) && item !== null && segments.includes(item[1]);
  }
}

export function selectionText(segments, bag) {
  if (segments.length === 0) return "";
  if (segments.length === 1) return describe(segments[0], bag);
  const names = new Set(segments.map((s) => (isUnsure(s, bag) ? "?" : nameOf(shownLabel(s, bag), bag))));
  return `${segments.length} segments selected: ${[...names].slice(0, 3).join(", ")}${names.size > 3 ? "…" : ""}`;
}

function extentOf(points) {
  const xs = points.map((p) => p.x);
  const ys = points.map((p) => p.y);
  return Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
}

function round(value) {
  return Math.round(value * 1e5) / 1e5;
}
