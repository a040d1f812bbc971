/** The choice of the class whose segments the wall shows: a list with counts, to filter by typing. */
import { rank, fold } from "./class_search.js";
import { element, nameOfClass } from "./dom.js";
import { ListBox } from "./list_box.js";
import { BACKGROUND } from "./segment_labels.js";
import { QUIET } from "./colours.js";
import { grouped } from "./text.js";

/** How many segments of a class there are in each list. */
export const NO_SEGMENTS = { open: 0, unsure: 0, checked: 0, threshold: 0 };
const COUNTED = { open: "open", unsure: "uncertain", checked: "checked", threshold: "by threshold" };

export class WallClasses {
  constructor(disposables, wall) {
    this.wall = wall;
    this.button = element("button", { type: "button", class: "class-button", "aria-haspopup": "listbox", "aria-expanded": "false" });
    this.input = element("input", { type: "text", spellcheck: false, autocomplete: "off", placeholder: "type to filter", "aria-label": "Filter classes" });
    this.list = new ListBox(disposables, this.input, { rowOf: rowContent, take: (row) => this.#take(row), leave: () => this.#leave() });
    this.panel = element("div", { class: "class-panel", hidden: true }, this.input, this.list.node);
    this.node = element("div", { class: "class-choice" }, this.button, this.panel);
    disposables.listen(this.button, "click", () => (this.panel.hidden ? this.open() : this.close()));
    disposables.listen(this.input, "input", () => this.#filter());
    disposables.listen(this.input, "blur", () => this.close());
  }

  update() {
    const { wall } = this;
    const { predicted } = wall.query ?? {};
    const label = predicted === undefined ? null : Number(predicted);
    const one = label === null ? null : this.#entries().find((row) => row.id === label);
    const swatch = element("span", { class: "swatch", style: { background: one?.colour ?? "transparent" } });
    const text = element("span", { class: "name" }, one ? one.name : wall.title || "Choose a class");
    this.button.replaceChildren(...(one ? [swatch] : []), text, element("span", { class: "caret" }, "▾"));
  }

  open() {
    this.input.value = "";
    this.panel.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.#filter();
    this.input.focus({ preventScroll: true });
  }

  close() {
    if (this.panel.hidden) return;
    this.panel.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
  }

  /** Classes with segments first, those with the most to do on top; then the background, then the others. */
  #entries() {
    const { classes, background } = this.wall;
    const rows = [...classes.values()].map((one) => ({ ...one, counts: one.counts ?? NO_SEGMENTS }));
    rows.push({ id: BACKGROUND, name: "background", scientific_name: "", colour: QUIET, counts: background });
    const sum = (row) => Object.values(row.counts).reduce((a, b) => a + b, 0);
    return rows.sort((a, b) => b.counts.open - a.counts.open || sum(b) - sum(a) || a.name.localeCompare(b.name));
  }

  #filter() {
    this.list.fill(rank(this.#entries(), fold(this.input.value)));
  }

  #take(row) {
    this.#leave();
    this.wall.open({ ...this.wall.choices, predicted: row.id });
  }

  #leave() {
    this.close();
    this.wall.grid.node.focus({ preventScroll: true });
  }
}

function rowContent({ name, scientific_name, colour, counts }) {
  const numbers = Object.entries(COUNTED).map(([list, words]) => (counts[list] || list === "open" ? `${grouped(counts[list])} ${words}` : ""));
  const swatch = element("span", { class: "swatch", style: { background: colour } });
  const text = element("span", { class: "counts" }, numbers.filter(Boolean).join(" · "));
  return [swatch, nameOfClass(name, { title: scientific_name ?? "" }), text];
}
