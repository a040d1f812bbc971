/**
 * Everything a canvas adds to the page (listeners, timers, observers), so that all of it can be removed at once.
 *
 * The count of active listeners is kept for the test that leaves and comes back to a page.
 */
const counts = { listeners: 0, owners: 0 };

export function activeListeners() {
  return counts.listeners;
}

export class Disposables {
  #stop = new AbortController();
  #endings = [];

  constructor() {
    counts.owners += 1;
    this.#endings.push(() => (counts.owners -= 1));
  }

  get over() {
    return this.#stop.signal.aborted;
  }

  get signal() {
    return this.#stop.signal;
  }

  listen(target, type, act, options = {}) {
    target.addEventListener(type, act, { ...options, signal: this.#stop.signal });
    counts.listeners += 1;
    this.#endings.push(() => (counts.listeners -= 1));
  }

  every(milliseconds, act) {
    const timer = setInterval(act, milliseconds);
    this.#endings.push(() => clearInterval(timer));
  }

  watchSize(element, act) {
    const watcher = new ResizeObserver(act);
    watcher.observe(element);
    this.#endings.push(() => watcher.disconnect());
  }

  /** Something else that has to be ended: a playing sound, a pending frame. */
  atEnd(act) {
    this.#endings.push(act);
  }

  end() {
    if (this.over) return;
    this.#stop.abort();
    for (const ending of this.#endings.splice(0)) ending();
  }
}
