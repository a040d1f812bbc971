/**
 * Under the canvas: why edits wait; edits that could not be stored, each with "Try again" and "Discard"; and edits that
 * the server asks to confirm, unless the question is shown over the picture.
 */
import { nameOf } from "./card.js";
import { element, replaceWhenNew } from "./dom.js";
import { counted } from "./text.js";

export class OutboxPanel {
  constructor(editor) {
    this.editor = editor;
    this.node = element("div", { class: "outbox", role: "status", hidden: true });
  }

  update() {
    const { notice, outbox } = this.editor;
    const waiting = waitingSentences(outbox);
    const questions = outbox.questions.filter((one) => one !== notice.question);
    const asked = questions.map((one) => `${this.#describe([one.edit])} ${one.sentence}`);
    const aside = outbox.aside.map((item) => `${this.#describe(item.edits)} ${item.sentence}`);
    this.node.hidden = waiting.length + asked.length + aside.length === 0;
    const numbers = questions.map((one) => one.edit.number); // the same question may be asked again
    replaceWhenNew(this.node, JSON.stringify([waiting, asked, numbers, aside]), () => [
      ...waiting.map((sentence) => element("div", {}, sentence)),
      ...questions.map((one, place) => this.#questionRow(one, asked[place])),
      ...outbox.aside.map((item, place) => this.#asideRow(item, aside[place])),
    ]);
  }

  #questionRow(question, text) {
    const { outbox } = this.editor;
    const reply = (agrees) => () => {
      outbox.answer(question, agrees);
      this.editor.bagSync.compose();
    };
    return row(text, { Yes: reply(true), No: reply(false) });
  }

  #asideRow(item, text) {
    const { outbox } = this.editor;
    const tryAgain = () => {
      outbox.tryAgain(item);
      this.editor.bagSync.compose();
    };
    return row(text, { "Try again": tryAgain, Discard: () => outbox.discard(item) });
  }

  #describe(edits) {
    const [first] = edits;
    const known = this.editor.api.knownBag(first.bag);
    const where = first.bag === null ? "" : ` in ${known?.name ?? `bag ${first.bag}`}`;
    const more = edits.length > 1 ? `, and ${counted(edits.length - 1, "edit")} that need${edits.length === 2 ? "s" : ""} it` : "";
    return `Not saved: ${wordsFor(first.act, this.editor.bag ?? this.editor)}${where}${more}.`;
  }
}

function row(text, actions) {
  const buttons = Object.entries(actions).map(([name, act]) => element("button", { type: "button", onclick: act }, name));
  return element("div", {}, element("span", {}, text), ...buttons);
}

function waitingSentences(outbox) {
  const n = outbox.unsent.length;
  const sentences = [];
  if (outbox.state === "offline" && outbox.problem) sentences.push(`${counted(n, "edit")} not saved yet, trying again. ${outbox.problem}`);
  if (!outbox.survives) sentences.push("This browser's storage is full or switched off: keep this page open until everything is saved.");
  return sentences;
}

const DESCRIPTIONS = {
  correct: (act, name) => `label ${counted(act.segments.length, "segment")} as ${name(act.label)}`,
  accept: (act) => `accept the prediction of ${counted(act.segments.length, "segment")}`,
  label_many: (act) => `check ${counted(act.accept.length + act.correct.length, "segment")} of the wall`,
  accept_bag: () => "accept all predictions",
  draw: () => "draw a segment",
  redraw: () => "redraw a segment",
  merge: (act) => `merge ${counted(act.segments.length, "segment")}`,
  split: () => "split a segment",
  delete: (act) => `delete ${counted(act.segments.length, "segment")}`,
  tag: (act, name) => `${{ 1: "tag", 0: "remove the tag" }[act.value] ?? "tag as absent:"} ${name(act.class)}`,
  tag_by_name: (act) => `tag ${act.name}`,
  finish: () => "finish tagging",
  unfinish: () => "reopen tagging",
  nothing_here: () => "mark as nothing here",
  add_class: (act) => `add the class ${act.name}`,
};

/** What an act does, with the names of the classes that a bag or the wall has; without either, without names. */
function wordsFor(act, shown) {
  const name = (label) => (typeof label === "string" ? "a new class" : shown.classes ? nameOf(label, shown) : "a class");
  return DESCRIPTIONS[act.act]?.(act, name) ?? act.act;
}
