/** Under the tags of a bag: what ends its tagging, by button as by key, and whether it has ended. */
import { element } from "./dom.js";

const ACTS = [
  { name: "finish", key: "Enter", label: "Finish, next", description: "These are all the tags; go to the next bag (Enter)", run: (commands) => commands.finish("absent") },
  { name: "unsure", key: "U", label: "Not sure about the rest", description: "These tags are right, but there may be more; go to the next bag (U)", run: (commands) => commands.finish("unknown") },
  { name: "nothing", key: "0", label: "Nothing here", description: "No tag at all; go to the next bag (0)", run: (commands) => commands.nothingHere() },
  { name: "suggested", key: "A", label: "Accept suggestions", description: "Accept every suggestion with a probability of 50 % or more (A)", run: (commands) => commands.acceptSuggestions() },
];

export class TagBar {
  #buttons = new Map();

  constructor(disposables, editor) {
    this.editor = editor;
    this.state = element("span", { class: "tagstate", "aria-live": "polite" });
    this.node = element("div", { class: "tagbar", role: "group", "aria-label": "Finish tagging" }, ...ACTS.map((act) => this.#button(disposables, act)), this.state);
  }

  update() {
    const { bag, mode, suggestions } = this.editor;
    this.node.hidden = bag === null || mode !== "tag";
    if (this.node.hidden) return;
    this.#buttons.get("suggested").classList.toggle("none", suggestions.strong.length === 0);
    this.state.textContent = bag.finished ? (bag.rest_unknown ? "finished, not sure about the rest" : "finished") : "";
  }

  #button(disposables, { name, key, label, description, run }) {
    const button = element("button", { type: "button", class: `tagact ${name}`, title: description }, label, element("kbd", {}, key));
    disposables.listen(button, "click", () => {
      run(this.editor.commands);
      this.editor.layers.node.focus({ preventScroll: true });
    });
    this.#buttons.set(name, button);
    return button;
  }
}
