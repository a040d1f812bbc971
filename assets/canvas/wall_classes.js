/** The choice of the class whose segments the wall shows: a list with counts, to filter by typing. */
import { rank, fold } from "./class_search.js";
import { element, nameOfClass } from "./dom.js";
import { BACKGROUND } from "./segment_labels.js";
import { QUIET } from "./colours.js";
import { grouped } from "./text.js";

/** How many segments of a class there are in each list. */
export const NO_SEGMENTS = { open: 0, unsure: 0, checked: 0, threshold: 0 };
const COUNTED = { open: "open", unsure: "not sure", checked: "checked", threshold: "by threshold" };

export class WallClasses {
  #chosen = 0;
  #shown = [];

  constructor(disposables, wall) {
    this.wall = wall;
    this.button = element("button", { type: "button", class: "class-button", "aria-haspopup": "listbox", "aria-expanded": "false" });
    this.input = element("input", { type: "text", spellcheck: false, autocomplete: "off", placeholder: "type to filter", "aria-label": "Filter classes" });
    this.rows = element("ul", { role: "listbox", "aria-label": "Classes" });
    this.panel = element("div", { class: "class-panel", hidden: true }, this.input, this.rows);
    this.node = element("div", { class: "class-choice" }, this.button, this.panel);
    disposables.listen(this.button, "click", () => (this.panel.hidden ? this.open() : this.close()));
    disposables.listen(this.input, "input", () => this.#filter());
    disposables.listen(this.input, "keydown", (event) => this.#key(event));
    disposables.listen(this.input, "blur", () => this.close());
    disposables.listen(this.rows, "pointerdown", (event) => this.#press(event));
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
    this.#shown = rank(this.#entries(), fold(this.input.value));
    this.#chosen = 0;
    this.#draw();
  }

  #draw() {
    const rows = this.#shown.map((row, place) => {
      const counts = Object.entries(COUNTED).map(([list, words]) => (row.counts[list] || list === "open" ? `${grouped(row.counts[list])} ${words}` : ""));
      const swatch = element("span", { class: "swatch", style: { background: row.colour } });
      const name = nameOfClass(row.name, { title: row.scientific_name ?? "" });
      const text = element("span", { class: "counts" }, counts.filter(Boolean).join(" · "));
      const properties = { role: "option", "aria-selected": String(place === this.#chosen), "data-row": String(place) };
      return element("li", properties, swatch, name, text);
    });
    if (rows.length === 0) rows.push(element("li", { class: "none" }, "no class of that name"));
    this.rows.replaceChildren(...rows);
    this.rows.children[this.#chosen]?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    const n = this.#shown.length;
    if (step && n) {
      this.#chosen = Math.abs(step) === 1 ? (this.#chosen + step + n) % n : Math.min(Math.max(this.#chosen + step, 0), n - 1);
      this.#draw();
    } else if (event.key === "Enter") this.#take(this.#shown[this.#chosen]);
    else if (event.key === "Tab" || event.key === "Escape") this.#leave();
    else return;
    event.preventDefault();
  }

  #press(event) {
    const row = event.target.closest("[data-row]");
    event.preventDefault();
    if (row) this.#take(this.#shown[Number(row.dataset.row)]);
  }

  #take(row) {
    if (!row) return;
    this.#leave();
    this.wall.open({ ...this.wall.choices, predicted: row.id });
  }

  #leave() {
    this.close();
    this.wall.grid.node.focus({ preventScroll: true });
  }
}
