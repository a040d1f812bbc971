/** Under the canvas: why edits wait, and edits that could not be stored, each with "Try again" and "Discard". */
import { nameOf } from "./card.js";
import { element, replaceWhenNew } from "./dom.js";

export class OutboxPanel {
  constructor(editor) {
    this.editor = editor;
    this.node = element("div", { class: "outbox", role: "status", hidden: true });
  }

  update() {
    const { outbox } = this.editor;
    const waiting = waitingSentences(outbox);
    const texts = outbox.aside.map((item) => `${this.#describe(item)} ${item.sentence}`);
    this.node.hidden = waiting.length + texts.length === 0;
    replaceWhenNew(this.node, JSON.stringify([waiting, texts]), () => [
      ...waiting.map((sentence) => element("div", {}, sentence)),
      ...outbox.aside.map((item, place) => this.#row(item, texts[place])),
    ]);
  }

  #row(item, text) {
    const { outbox } = this.editor;
    const button = (name, act) => element("button", { type: "button", onclick: act }, name);
    const again = button("Try again", () => {
      outbox.tryAgain(item);
      this.editor.bagSync.compose();
    });
    return element("div", {}, element("span", {}, text), again, button("Discard", () => outbox.discard(item)));
  }

  #describe({ edits }) {
    const [first] = edits;
    const known = this.editor.api.knownBag(first.bag);
    const where = first.bag === null ? "" : ` in ${known?.name ?? `bag ${first.bag}`}`;
    const more = edits.length > 1 ? `, and ${count(edits.length - 1, "edit")} that need${edits.length === 2 ? "s" : ""} it` : "";
    return `Not stored: ${wordsFor(first.act, this.editor.bag)}${where}${more}.`;
  }
}

function waitingSentences(outbox) {
  const n = outbox.unsent.length;
  const sentences = [];
  if (outbox.state === "offline" && outbox.problem) sentences.push(`${count(n, "edit")} not saved yet, trying again. ${outbox.problem}`);
  if (!outbox.survives) sentences.push("This browser's storage is full or switched off: keep this page open until everything is saved.");
  return sentences;
}

const DESCRIPTIONS = {
  correct: (act, name) => `label ${count(act.segments.length, "segment")} as ${name(act.label)}`,
  accept: (act) => `accept the prediction of ${count(act.segments.length, "segment")}`,
  label_many: (act) => `check ${count(act.accept.length + act.correct.length, "segment")} of the wall`,
  accept_bag: () => "accept all predictions",
  draw: () => "draw a segment",
  redraw: () => "redraw a segment",
  merge: (act) => `merge ${count(act.segments.length, "segment")}`,
  split: () => "split a segment",
  delete: (act) => `delete ${count(act.segments.length, "segment")}`,
  tag: (act, name) => `${{ 1: "tag", 0: "remove the tag" }[act.value] ?? "tag as absent:"} ${name(act.class)}`,
  finish: () => "finish tagging",
  unfinish: () => "reopen tagging",
  nothing_here: () => "mark as nothing here",
  add_class: (act) => `add the class ${act.name}`,
};

function wordsFor(act, bag) {
  const name = (label) => (bag && typeof label !== "string" ? nameOf(label, bag) : "a new class");
  return DESCRIPTIONS[act.act]?.(act, name) ?? act.act;
}

function count(n, noun) {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}
