/** Going through the queue: which item is opened first, the next and the previous one, and a new list. */
import { loadValue, saveValue } from "./session_store.js";

export class QueueNavigation {
  #opened; // what the page asked for and is open, as JSON

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
      this.editor.showProblem(problem, () => this.open());
      return;
    }
    if (this.editor.disposables.over || asked !== this.#opened) return;
    const requested = Boolean(request) && loadValue(this.requestKey) !== request.id;
    if (requested) this.#follow(request);
    else if (isNew && query) this.#goToLatestBag();
    if (isNew || requested) this.editor.openItem(this.queue.current);
  }

  #follow({ id, bag }) {
    saveValue(this.requestKey, id);
    this.queue.goToBag(bag);
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
      this.editor.showProblem(problem, () => this.goBy(step));
      return;
    }
    const item = this.queue.move(step);
    if (item !== null) this.editor.openItem(item);
    else this.editor.announce(step > 0 ? "This is the last one" : "This is the first one");
  }

  /** Order the list again, as the project is now. */
  async renew() {
    try {
      await this.queue.renew();
      if (!this.editor.disposables.over) this.editor.openItem(this.queue.current);
    } catch (problem) {
      this.editor.showProblem(problem, () => this.renew());
    }
  }
}
