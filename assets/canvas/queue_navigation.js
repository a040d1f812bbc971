/** Going through the queue: which item is opened first, the next and the previous one, and refreshing the list. */
import { isDecided } from "./segment_labels.js";
import { loadValue, saveValue } from "./session_store.js";

export class QueueNavigation {
  #opened; // what the page asked for and is open, as JSON
  #goingOn = false;

  constructor(editor) {
    this.editor = editor;
    this.latestKey = `bagtag.bag.${editor.data.project}`;
    this.requestKey = `bagtag.request.${editor.data.project}`;
  }

  get queue() {
    return this.editor.queue;
  }

  /** Open the queue and the bag that the page asks for; a page run that asks for nothing new changes nothing. */
  async open() {
    const { bag, preview, queue: query, request } = this.editor.data;
    const asked = JSON.stringify([query, query ? null : bag, preview]);
    const isNew = asked !== this.#opened;
    this.#opened = asked;
    try {
      if (isNew && query) await this.queue.open(query);
      else if (isNew) this.queue.hold([bag, null]);
    } catch (problem) {
      this.#opened = undefined; // the next page run tries again
      this.editor.display.showProblem(problem, () => this.open());
      return;
    }
    if (this.editor.disposables.over || asked !== this.#opened) return;
    const requested = Boolean(request) && loadValue(this.requestKey) !== request.id;
    if (requested) this.#follow(request);
    else if (isNew && query) this.#goToLatestBag();
    if (isNew || requested) this.editor.display.open(this.queue.current);
  }

  #follow({ id, bag, segment }) {
    saveValue(this.requestKey, id);
    this.queue.goToBag(bag, segment ?? null);
  }

  /** In a list of bags start at the one last shown on any page, else at the one the page names. */
  #goToLatestBag() {
    const isListed = (bag) => this.queue.items.some(([id, segment]) => id === bag && segment === null);
    const bag = [loadValue(this.latestKey), this.editor.data.bag].find(isListed);
    if (bag !== undefined) this.queue.goToBag(bag);
  }

  /** Remember the bag on screen for the other pages. */
  noteBag(id) {
    if (this.editor.mode !== "preview") saveValue(this.latestKey, id);
  }

  /** Go `step` items on; where the list ends here but not on the server, fetch more of it first. */
  async goBy(step) {
    try {
      if (step > 0 && this.queue.at(step) === null && this.queue.more) await this.queue.fetchMore();
    } catch (problem) {
      this.editor.display.showProblem(problem, () => this.goBy(step));
      return;
    }
    const item = this.queue.move(step);
    if (item !== null) this.editor.display.open(item);
    else this.editor.announce(step > 0 ? "This is the last one" : "This is the first one");
  }

  /** Go to the next item that nobody has checked, as far as is known here: the current one, if it is still open. */
  async goToUnchecked() {
    if (this.#goingOn) return;
    this.#goingOn = true;
    let step = 0;
    try {
      while (this.queue.at(step) !== null && this.#isChecked(this.queue.at(step))) {
        step += 1;
        if (this.queue.at(step) === null && this.queue.more) await this.queue.fetchMore();
      }
    } catch (problem) {
      this.editor.display.showProblem(problem, () => this.goToUnchecked());
      return;
    } finally {
      this.#goingOn = false;
    }
    if (this.editor.disposables.over) return;
    if (this.queue.at(step) !== null) this.editor.display.open(this.queue.move(step));
    else this.editor.notice.show("This was the last one of the list. “Refresh list” looks for more.");
  }

  /** Has the segment of an item a label (or is it gone)? Of bags that were never fetched nothing is known. */
  #isChecked([bag, segment]) {
    const shown = bag === this.editor.bag?.id ? this.editor.bag : this.editor.api.knownBag(bag);
    const found = shown?.segments.find((s) => s.id === segment);
    return found ? isDecided(found) : Boolean(shown) && !shown.range;
  }

  /** Order the list again, as the project is now. */
  async renew() {
    try {
      await this.queue.renew();
      if (!this.editor.disposables.over) this.editor.display.open(this.queue.current);
    } catch (problem) {
      this.editor.display.showProblem(problem, () => this.renew());
    }
  }
}
