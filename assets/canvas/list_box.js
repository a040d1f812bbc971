/** The rows below a text field: arrow keys choose one, Enter or a click takes it, Tab or Esc leaves. */
import { element } from "./dom.js";

const PAGE = 8; // rows

export class ListBox {
  #chosen = 0;
  #items = [];

  /** `rowOf(item)` returns the content of a row; `take(item)` is called with the item taken, `leave()` where none is. */
  constructor(disposables, input, { rowOf, take, leave }) {
    Object.assign(this, { rowOf, take, leave });
    this.node = element("ul", { role: "listbox", "aria-label": "Classes" });
    disposables.listen(input, "keydown", (event) => this.#key(event));
    disposables.listen(this.node, "pointerdown", (event) => this.#press(event));
  }

  /** Show these items, the first one chosen. */
  fill(items) {
    this.#items = items;
    this.#chosen = 0;
    this.#draw();
    this.node.scrollTop = 0;
  }

  #draw() {
    const rows = this.#items.map((item, place) => {
      const properties = { role: "option", "aria-selected": String(place === this.#chosen), "data-row": String(place) };
      return element("li", properties, ...this.rowOf(item));
    });
    if (rows.length === 0) rows.push(element("li", { class: "none" }, "no class of that name"));
    this.node.replaceChildren(...rows);
  }

  #key(event) {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE }[event.key];
    if (step) this.#move(step);
    else if (event.key === "Enter") this.#takeAt(this.#chosen);
    else if (event.key === "Tab" || event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  /** Choose another row: single steps go round, pages end at the last row. */
  #move(step) {
    const n = this.#items.length;
    if (n === 0) return;
    const next = this.#chosen + step;
    this.#chosen = Math.abs(step) === 1 ? (next + n) % n : Math.min(Math.max(next, 0), n - 1);
    this.#draw();
    this.node.children[this.#chosen].scrollIntoView({ block: "nearest" });
  }

  #press(event) {
    const row = event.target.closest("[data-row]");
    event.preventDefault(); // the text field keeps the focus
    if (row) this.#takeAt(Number(row.dataset.row));
  }

  #takeAt(place) {
    const item = this.#items[place];
    if (item) this.take(item);
  }
}
