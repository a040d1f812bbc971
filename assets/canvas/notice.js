/** Sentences over the canvas: what went wrong, what somebody else did, and questions with yes and no. */
import { element } from "./dom.js";

const SHOWN_FOR = 7000;

export class Notice {
  #timer = null;

  constructor(disposables) {
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

  ask(sentence, yes) {
    const button = (act) => () => {
      this.hide();
      this.node.parentElement?.focus({ preventScroll: true }); // the picture has the keys again
      act();
    };
    const agree = element("button", { type: "button", class: "strong", onclick: button(yes) }, "Yes");
    this.#replace(sentence, agree, element("button", { type: "button", onclick: button(() => {}) }, "No"));
    agree.focus({ preventScroll: true });
  }

  hide() {
    clearTimeout(this.#timer);
    this.node.hidden = true;
  }

  /** Hide a sentence that is no longer true, if it is the one on screen. */
  retract(sentence) {
    if (this.node.firstChild?.textContent === sentence) this.hide();
  }

  #replace(sentence, ...buttons) {
    clearTimeout(this.#timer);
    this.node.replaceChildren(element("span", {}, sentence), ...buttons);
    this.node.hidden = false;
  }
}
