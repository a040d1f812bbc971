/** The search box over the canvas: a few letters, then Enter. Closes by Tab, Esc, Backspace when empty, or a click. */
import { labelColour } from "./colours.js";
import { element, nameOfClass } from "./dom.js";
import { ListBox } from "./list_box.js";

const MOST_SHOWN = 8;

export class ClassSearch {
  #options = null;

  constructor(disposables, layers) {
    this.layers = layers;
    this.input = element("input", { type: "text", spellcheck: false, autocomplete: "off", "aria-label": "Find a class" });
    this.list = new ListBox(disposables, this.input, { rowOf: rowContent, take: (row) => this.#take(row), leave: () => this.close() });
    this.node = element("div", { class: "class-search", hidden: true }, this.input, this.list.node);
    disposables.listen(this.input, "input", () => this.#filter());
    disposables.listen(this.input, "keydown", (event) => this.#closeByBackspace(event));
    disposables.listen(this.input, "blur", () => this.close());
  }

  get open() {
    return !this.node.hidden;
  }

  /** `classes` in the order to offer them; `choose` is called with a class, or with null and a new name. */
  show({ classes, at, choose, mayCreate }) {
    this.#options = { classes, choose, mayCreate };
    this.input.value = "";
    this.input.placeholder = mayCreate ? "Type to find or add a tag" : "Type to find a class";
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
    const shown = rank(classes, wanted).slice(0, MOST_SHOWN);
    const exact = classes.some((c) => fold(c.name) === wanted);
    if (mayCreate && wanted && !exact) shown.push({ create: this.input.value.trim() });
    this.list.fill(shown);
  }

  #closeByBackspace(event) {
    if (event.key !== "Backspace" || this.input.value !== "") return;
    event.preventDefault();
    this.close();
  }

  #take(row) {
    const { choose } = this.#options;
    this.close();
    if (row.create) choose(null, row.create);
    else choose(row);
  }
}

function rowContent(row) {
  if (row.create) return [element("span", { class: "key" }, "+"), `add “${row.create}”`];
  const swatch = element("span", { class: "swatch", style: { background: labelColour(row.id, new Map([[row.id, row]])) } });
  const key = row.keys[0] ? [element("kbd", {}, row.keys[0].toUpperCase())] : [];
  return [swatch, nameOfClass(row.name), ...key];
}

/** Letters without case and accents, so that "grun" finds "Grünfink". */
export function fold(text) {
  return text.normalize("NFD").replace(/\p{Diacritic}/gu, "").toLowerCase().trim();
}

/** Names that start with the letters first, then those with a word that does, then those that contain them. */
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
