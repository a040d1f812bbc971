/**
 * What is reported to Streamlit: the bag on screen (if the page depends on it), what to open on the wall, and that the
 * page has to run again.
 */

const REPORT_AFTER = 120; // milliseconds without another change
const RERUN_EVERY = 1500;

export class StreamlitBridge {
  #timer = null;
  #reported = null;
  #requested = 0;

  constructor(disposables, editor) {
    this.editor = editor;
    disposables.listen(editor.api, "unauthorized", () => this.#requestRerun());
    disposables.listen(window, "click", () => this.#reportPending(), { capture: true });
    disposables.atEnd(() => clearTimeout(this.#timer));
  }

  /** Report the bag on screen once the person stays at it, if the page depends on it. */
  reportBag() {
    if (!this.editor.data.reportBag) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#reportNow(), REPORT_AFTER);
  }

  /** A click on the page concerns the bag that is on screen: the server has to know it before it gets the click. */
  #reportPending() {
    if (this.#timer !== null) this.#reportNow();
  }

  #reportNow() {
    clearTimeout(this.#timer);
    this.#timer = null;
    const { bag, component } = this.editor;
    if (bag === null || bag.id === this.#reported) return;
    this.#reported = bag.id;
    component.setStateValue("shown", bag.id);
  }

  /** Show the segments most like one on the wall: another page, or another list of it. */
  showSimilar(segment) {
    this.editor.component.setTriggerValue("similar", segment);
  }

  /** After a restart of the server only a page run brings a token that it accepts. */
  #requestRerun() {
    if (Date.now() - this.#requested < RERUN_EVERY) return;
    this.#requested = Date.now();
    this.editor.component.setStateValue("rerun", this.#requested);
  }
}
