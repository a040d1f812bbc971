/** Which canvas of a page a key press goes to, and what it does there. */
import { isLeaving } from "./page_change.js";
import { classForKey, guessForKey, isMeantForOthers, rowFor } from "./keys.js";

const editors = []; // the canvases on the page, the one used last at the end
const MAY_PASS = ["PageDown", "PageUp", "Home", "End"]; // these scroll the page where they move nothing here

export class Keyboard {
  constructor(disposables, editor) {
    this.editor = editor;
    editors.push(editor);
    disposables.atEnd(() => editors.splice(editors.indexOf(editor), 1));
    disposables.listen(editor.layers.node, "focus", () => this.#comeFirst());
    disposables.listen(document, "keydown", (event) => this.#press(event));
  }

  #comeFirst() {
    editors.splice(editors.indexOf(this.editor), 1);
    editors.push(this.editor);
  }

  #press(event) {
    if (event.defaultPrevented || !this.#isMine(event)) return;
    if (this.#handle(event)) {
      this.editor.card.hide();
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #isMine(event) {
    const { editor } = this;
    if (editor.bag === null || editor.mode === "preview" || isLeaving()) return false;
    const focused = editors.find((b) => b.layers.node.matches(":focus-within"));
    if (focused) return focused === editor && !isMeantForOthers(event, editor.layers.node);
    const latest = editors.filter((b) => b.mode !== "preview").at(-1);
    return latest === editor && !isMeantForOthers(event, editor.layers.node) && !document.querySelector("[role=dialog]");
  }

  #handle(event) {
    const { editor } = this;
    if (event.key === "Tab") return this.#tab(event);
    const row = rowFor(event, editor.mode, editor.bag.kind);
    if (row?.run) {
      return row.run(editor) !== false || !MAY_PASS.includes(event.key);
    }
    const suggested = editor.mode === "tag" ? editor.suggestions.forKey(event) : null;
    if (suggested && editor.commands.mayEdit) {
      editor.commands.toggleSuggestion(suggested);
      return true;
    }
    const guess = editor.mode === "tag" ? null : guessForKey(event);
    if (guess !== null) return editor.commands.labelByGuess(guess);
    const chosen = classForKey(event, [...editor.bag.classes.values()]);
    if (!chosen || !editor.commands.mayEdit) return false;
    if (editor.mode === "tag") editor.commands.toggleTag(chosen.id);
    else editor.commands.label(chosen.id);
    return true;
  }

  /** Tab goes through the segments of a focused canvas and then on through the page. */
  #tab(event) {
    const onStage = this.editor.layers.node.matches(":focus");
    return onStage && !event.ctrlKey && this.editor.selection.step(event.shiftKey ? -1 : 1, { wrap: false });
  }
}
