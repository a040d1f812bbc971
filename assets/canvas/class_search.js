/** The type-to-find box over the canvas: a few letters, then Enter. Closes by Tab, by Backspace when empty, by a click. */
import { labelColour } from "./colours.js";
import { element, nameOfClass } from "./dom.js";

const MOST_SHOWN = 8;

export class ClassSearch {
  #chosen = 0;
  #shown = [];
  #options = null;

  constructor(disposables, layers) {
    this.layers = layers;
    this.input = element("input", { type: "text", spellcheck: false, autocomplete: "off", "aria-label": "Find a class" });
    this.list = element("ul", { role: "listbox" });
    this.node = element("div", { class: "class-search", hidden: true }, this.input, this.list);
    disposables.listen(this.input, "input", () => this.#filter());
    disposables.listen(this.input, "keydown", (event) => this.#key(event));
    disposables.listen(this.input, "blur", () => this.close());
    disposables.listen(this.list, "pointerdown", (event) => this.#press(event));
  }

  get open() {
    return !this.node.hidden;
  }

  /** `classes` in the order to offer them; `choose` is called with a class, or with null and a new name. */
  show({ classes, at, choose, mayCreate }) {
    this.#options = { classes, choose, mayCreate };
    this.input.value = "";
    this.input.placeholder = mayCreate ? "tag: type to find or to add" : "label: type to find";
    this.node.hidden = false;
    const limit = { x: this.layers.width - 264, y: this.layers.height - 250 };
    this.node.style.left = `${Math.max(4, Math.min(at.x, limit.x))}px`;
    this.node.style.top = `${Math.max(4, Math.min(at.y, limit.y))}px`;
    this.#filter();
    this.input.focus({ preventScroll: true });
  }

  close() {
    if (!this.open) return;
    this.node.hidden = true;
    this.#options = null;
    if (this.node.getRootNode().activeElement === this.input) this.layers.node.focus({ preventScroll: true });
  }

  #filter() {
    const wanted = fold(this.input.value);
    const { classes, mayCreate } = this.#options;
    this.#shown = rank(classes, wanted).slice(0, MOST_SHOWN);
    const exact = classes.some((c) => fold(c.name) === wanted);
    if (mayCreate && wanted && !exact) this.#shown.push({ create: this.input.value.trim() });
    this.#chosen = 0;
    this.#draw();
  }

  #draw() {
    const rows = this.#shown.map((row, i) => this.#row(row, i));
    if (rows.length === 0) rows.push(element("li", { class: "none" }, "no class of that name"));
    this.list.replaceChildren(...rows);
  }

  #row(row, i) {
    const properties = { role: "option", "aria-selected": String(i === this.#chosen), "data-row": String(i) };
    if (row.create) return element("li", properties, element("span", { class: "key" }, "+"), `add “${row.create}”`);
    const swatch = element("span", { class: "swatch", style: { background: labelColour(row.id, new Map([[row.id, row]])) } });
    const key = row.keys[0] ? [element("kbd", {}, row.keys[0].toUpperCase())] : [];
    return element("li", properties, swatch, nameOfClass(row.name), ...key);
  }

  #key(event) {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const n = this.#shown.length;
      if (n) this.#chosen = (this.#chosen + step + n) % n;
      this.#draw();
    } else if (event.key === "Enter") {
      this.#take(this.#shown[this.#chosen]);
    } else if (event.key === "Tab" || (event.key === "Backspace" && this.input.value === "")) {
      this.close();
    } else {
      return;
    }
    event.preventDefault();
  }

  #press(event) {
    const row = event.target.closest("[data-row]");
    event.preventDefault();
    if (row) this.#take(this.#shown[Number(row.dataset.row)]);
  }

  #take(row) {
    if (!row) return;
    const { choose } = this.#options;
    this.close();
    if (row.create) choose(null, row.create);
    else choose(row);
  }
}

/** Letters without case and accents, so that "grun" finds "Grünfink". */
export function fold(text) {
  return text.normalize("NFD").replace(/\p{Diacritic}/gu, "").toLowerCase().trim();
}

/** Names that start with the letters first, then those with a word that does, then those that hold them. */
export function rank(classes, wanted) {
  if (!wanted) return classes;
  const score = (c) => {
    const names = [fold(c.name), fold(c.scientific_name ?? "")];
    if (names.some((name) => name.startsWith(wanted))) return 0;
    if (names.some((name) => name.split(/[\s-]+/).some((word) => word.startsWith(wanted)))) return 1;
    return names.some((name) => name.includes(wanted)) ? 2 : 3;
  };
  return classes.map((c) => [score(c), c]).filter(([s]) => s < 3).sort((a, b) => a[0] - b[0]).map(([, c]) => c);
}
