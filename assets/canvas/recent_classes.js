/** Classes in the order in which they are offered for tagging: those tagged lately, then those tagged often. */
const MOST_RECENT = 6;

export class RecentClasses {
  constructor(project) {
    this.key = `bagtag.recent.${project}`;
    this.ids = this.#load();
  }

  note(id) {
    this.ids = [id, ...this.ids.filter((other) => other !== id)].slice(0, MOST_RECENT);
    try {
      localStorage.setItem(this.key, JSON.stringify(this.ids));
    } catch {
      // Storage full or switched off: the order is only a convenience.
    }
  }

  /** Ids of the classes: recent ones, then by the number of bags that have them. */
  order(classes) {
    const often = [...classes].sort((a, b) => (b.bags ?? 0) - (a.bags ?? 0)).map((c) => c.id);
    return [...new Set([...this.ids, ...often])];
  }

  #load() {
    try {
      const ids = JSON.parse(localStorage.getItem(this.key));
      return Array.isArray(ids) ? ids.filter(Number.isInteger) : [];
    } catch {
      return [];
    }
  }
}
