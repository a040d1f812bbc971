/** Messages over the canvas: errors, what somebody else did, and questions with yes and no. */
import { element } from "./dom.js";

const SHOWN_FOR = 7000;

export class Notice {
  #timer = null;

  constructor(disposables) {
    this.question = null; // the question on screen
    this.onChange = () => {};
    this.node = element("div", { class: "notice", hidden: true, role: "alert" });
    disposables.atEnd(() => clearTimeout(this.#timer));
  }

  show(sentence) {
    this.#replace(sentence, element("button", { type: "button", onclick: () => this.hide() }, "OK"));
    this.#timer = setTimeout(() => this.hide(), SHOWN_FOR);
  }

  /** Something that lasts, such as a bag that cannot be shown. */
  stay(sentence, again) {
    this.#replace(sentence, element("button", { type: "button", onclick: again }, "Try again"));
  }

  /** Show the `sentence` of a question; `answer` is called with true for "Yes", false for "No". */
  ask(question, answer) {
    const reply = (agrees) => () => {
      this.hide();
      this.node.parentElement?.focus({ preventScroll: true }); // the picture has the keys again
      answer(agrees);
    };
    const agree = element("button", { type: "button", class: "strong", onclick: reply(true) }, "Yes");
    this.#replace(question.sentence, agree, element("button", { type: "button", onclick: reply(false) }, "No"));
    this.#setQuestion(question);
    agree.focus({ preventScroll: true });
  }

  hide() {
    clearTimeout(this.#timer);
    this.node.hidden = true;
    this.#setQuestion(null);
  }

  /** Hide a sentence that is no longer true, if it is the one on screen. */
  retract(sentence) {
    if (this.node.firstChild?.textContent === sentence) this.hide();
  }

  #replace(sentence, ...buttons) {
    clearTimeout(this.#timer);
    this.node.replaceChildren(element("span", {}, sentence), ...buttons);
    this.node.hidden = false;
    this.#setQuestion(null);
  }

  #setQuestion(question) {
    if (question === this.question) return;
    this.question = question;
    this.onChange();
  }
}
