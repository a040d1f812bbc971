/** What is reported to Streamlit: the bag on screen (if the page depends on it), and what to open on the wall. */
import { runPage } from "./page_run.js";

const REPORT_AFTER = 120; // milliseconds without another change

export class StreamlitBridge {
  #timer = null;
  #reported = null;

  constructor(disposables, editor) {
    this.editor = editor;
    disposables.listen(editor.api, "unauthorized", runPage); // a restarted server accepts only the token of a new run
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
}
