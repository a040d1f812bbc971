/** What the page hears of the canvas: where the person is, once they pause; and that it is time to run again. */

const TELL_AFTER = 120; // milliseconds of quiet
const KNOCK_EVERY = 1500;

export class StreamlitBridge {
  #telling = null;
  #told = "";
  #knocked = 0;

  constructor(disposables, editor) {
    this.editor = editor;
    disposables.listen(editor.api, "stranger", () => this.#knock());
    disposables.atEnd(() => clearTimeout(this.#telling));
  }

  /** Tell where the person is; a page's side panels follow. */
  tell() {
    clearTimeout(this.#telling);
    this.#telling = setTimeout(() => this.#tellNow(), TELL_AFTER);
  }

  #tellNow() {
    const { bag, component, item, bagSync, mode, outbox, selection, wish } = this.editor;
    const segment = selection.ids.find((id) => typeof id === "number") ?? null;
    const now = { bag: bag?.id ?? null, segment, item, stored: outbox.stored, revision: bagSync.revision, wish };
    const text = JSON.stringify(now);
    if (text === this.#told || mode === "preview") return;
    this.#told = text;
    component.setStateValue("now", now);
  }

  /** Have the page run again: after a restart of the server only that brings a token it knows. */
  #knock() {
    if (Date.now() - this.#knocked < KNOCK_EVERY) return;
    this.#knocked = Date.now();
    this.editor.component.setStateValue("knock", this.#knocked);
  }
}
