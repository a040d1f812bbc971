/** Above the wall: which class, which order, which segments, how far one is; below it: the classes to give. */
import { QUIET } from "./colours.js";
import { element, icon, nameOfClass, replaceWhenNew } from "./dom.js";
import { BACKGROUND } from "./segment_labels.js";
import { ICONS } from "./icons.js";
import { grouped } from "./text.js";
import { NO_SEGMENTS, WallClasses } from "./wall_classes.js";

const ORDERS = [["doubtful", "Least certain"], ["sure", "Most certain"]];
const SHOWS = [["open", "Open"], ["unsure", "Uncertain"], ["checked", "Checked"], ["threshold", "By threshold"], ["all", "All"]];
const SHOWN_TITLES = {
  open: "Predicted as this class, and without a label",
  unsure: "This class is only the best guess: below the confidence threshold, and without a label",
  checked: "Labelled as this class by somebody who saw them",
  threshold: "Accepted by a threshold of the probability: nobody has seen them",
  all: "All of these",
};
const SOUND = "M3 6.200h2.300L8.500 3.500v9L5.300 9.800H3zM10.500 6a3 3 0 0 1 0 4M12 4.200a5.500 5.500 0 0 1 0 7.600";
const RARE = new Set(["unsure", "threshold"]); // offered only where there are any
const MOST_CHIPS = 9;

export class WallToolbar {
  constructor(disposables, wall) {
    this.wall = wall;
    this.classes = new WallClasses(disposables, wall);
    this.order = element("div", { class: "segmented", role: "group", "aria-label": "Order" });
    this.show = element("div", { class: "segmented", role: "group", "aria-label": "Which segments" });
    this.marked = element("button", { type: "button", class: "marked-button", onclick: () => wall.openMarked() });
    this.place = element("span", { class: "place" });
    this.accept = button("accept", "Accept the rest of this screen (Enter)", () => wall.commands.acceptScreen(), "Accept screen");
    this.undo = button("undo", "Undo (Ctrl+Z)", () => wall.commands.undo());
    this.sound = element("button", { type: "button", title: "Play the segment under the pointer (S)", "aria-label": "Play the segment under the pointer", onclick: () => wall.playback.toggle() }, icon(SOUND));
    this.similar = button("similar", "More like the chosen segment (F)", () => wall.commands.showSimilar());
    const keys = button("keys", "Keyboard shortcuts (?)", () => wall.toggleHelp());
    const left = element("div", { class: "group" }, this.classes.node, this.order, this.show, this.marked);
    const right = element("div", { class: "group end" }, this.place, this.accept, this.undo, this.similar, this.sound, keys);
    this.node = element("div", { class: "toolbar wall-toolbar", role: "toolbar", "aria-label": "Wall" }, left, right);
    disposables.listen(this.node, "click", (event) => this.#leave(event));
    disposables.listen(this.order, "click", (event) => this.#choose("order", event));
    disposables.listen(this.show, "click", (event) => this.#choose("show", event));
  }

  update() {
    const { wall } = this;
    const byClass = wall.query?.predicted !== undefined;
    this.classes.update();
    this.order.hidden = this.show.hidden = !byClass;
    const counts = byClass ? wall.counts : NO_SEGMENTS;
    const offered = SHOWS.filter(([name]) => !RARE.has(name) || counts[name] || wall.query?.show === name);
    this.#fill(this.order, ORDERS, wall.query?.order ?? "doubtful", () => "", () => "");
    this.#fill(this.show, offered, wall.query?.show ?? "open", (name) => counts[name], (name) => SHOWN_TITLES[name]);
    const n = wall.marks.ids.length;
    this.marked.classList.toggle("none", n === 0); // it keeps its space, so that the first mark moves nothing
    this.marked.disabled = n === 0;
    this.marked.classList.toggle("chosen", wall.query?.marked !== undefined);
    this.marked.textContent = `Marked ${grouped(n)}`;
    this.marked.title = "Marked as wrong and not saved yet: give them a class, or unmark them";
    this.place.textContent = wall.placeText;
    this.accept.disabled = wall.list.ids.length === 0;
    this.undo.disabled = !wall.commands.mayUndo;
    this.similar.disabled = wall.cursor === null;
    this.sound.hidden = wall.kind !== "sound";
    this.sound.setAttribute("aria-pressed", String(wall.playback.on));
  }

  #fill(node, choices, chosen, count, title) {
    const rows = choices.map(([name, text]) => [name, text, count(name), name === chosen]);
    replaceWhenNew(node, JSON.stringify(rows), () => rows.map(([name, text, number, pressed]) => {
      const shown = number === "" || number === undefined ? [text] : [text, element("span", { class: "number" }, grouped(number))];
      return element("button", { type: "button", "data-value": name, "aria-pressed": String(pressed), title: title(name) }, ...shown);
    }));
  }

  #choose(field, event) {
    const chosen = event.target.closest("[data-value]");
    if (chosen) this.wall.open({ ...this.wall.choices, predicted: this.wall.query.predicted, [field]: chosen.dataset.value });
  }

  /** Keys are for the tiles again: Enter after a click on "Undo" must not undo once more. */
  #leave(event) {
    if (!event.target.closest(".class-choice")) this.wall.grid.node.focus({ preventScroll: true });
  }
}

/** The classes that marked segments can be given, by click, by key, or by dragging a tile on them. */
export class WallChips {
  constructor(disposables, wall) {
    this.wall = wall;
    this.node = element("div", { class: "legend wall-chips", role: "group", "aria-label": "Classes to give to marked segments" });
    disposables.listen(this.node, "click", (event) => this.#click(event));
    disposables.listen(this.node, "dragover", (event) => this.#over(event));
    disposables.listen(this.node, "dragleave", () => this.#aim(null));
    disposables.listen(this.node, "drop", (event) => this.#drop(event));
  }

  update() {
    const numbered = [...this.wall.classes.values()].filter((one) => one.keys.length);
    const digit = (one) => one.keys.find((key) => /^[1-9]$/.test(key)) ?? "z";
    const chosen = numbered.sort((a, b) => digit(a).localeCompare(digit(b))).slice(0, MOST_CHIPS);
    const rows = chosen.map((one) => [one.id, one.name, one.colour, digit(one) === "z" ? one.keys[0] : digit(one)]);
    rows.push([BACKGROUND, "background", QUIET, "0"]);
    replaceWhenNew(this.node, JSON.stringify(rows), () => [...rows.map(chip), findChip()]);
  }

  #labelOf(event) {
    const found = event.target.closest?.("[data-class]");
    return found ? [found, Number(found.dataset.class)] : [null, null];
  }

  #click(event) {
    const [found, label] = this.#labelOf(event);
    if (found) this.wall.commands.label(label);
    else if (event.target.closest("[data-find]")) this.wall.commands.find();
    if (found) this.wall.grid.node.focus({ preventScroll: true });
  }

  #over(event) {
    const [found] = this.#labelOf(event);
    this.#aim(found);
    if (found) event.preventDefault();
  }

  #drop(event) {
    const [found, label] = this.#labelOf(event);
    const id = Number(event.dataTransfer.getData("text/plain"));
    this.#aim(null);
    if (!found || !this.wall.list.items.has(id)) return;
    event.preventDefault();
    this.wall.commands.drop(id, label);
  }

  #aim(found) {
    for (const one of this.node.children) one.classList.toggle("aim", one === found);
  }
}

function chip([id, name, colour, key]) {
  const swatch = element("span", { class: "swatch", style: { background: colour } });
  const parts = [swatch, nameOfClass(name), element("kbd", {}, key.toUpperCase())];
  return element("button", { type: "button", class: "chip", "data-class": String(id), title: `Label the marked segments ${name}` }, ...parts);
}

function findChip() {
  return element("button", { type: "button", class: "chip find", "data-find": "yes", title: "Find a class by typing (/)" }, "find…", element("kbd", {}, "/"));
}

function button(name, title, act, text = "") {
  return element("button", { type: "button", title, "aria-label": title, onclick: act }, icon(ICONS[name]), ...(text ? [element("span", {}, text)] : []));
}
