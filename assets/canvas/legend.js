/** The classes under the canvas: a click labels the selected segments, or tags the bag. */
import { percent } from "./card.js";
import { QUIET } from "./colours.js";
import { element, nameOfClass, replaceWhenNew } from "./dom.js";
import { BACKGROUND, countLabels, shownLabel } from "./segment_labels.js";
import { counted } from "./text.js";

const MOST_OTHERS = 12;
const MOST_BY_PLACE = 9; // more classes stand in the order of their keys
const NONE = { id: BACKGROUND, name: "background", colour: QUIET, key: "0", tag: 0, count: 0, suggested: null, chosen: false };

export class Legend {
  constructor(disposables, editor) {
    this.editor = editor;
    this.node = element("div", { class: "legend", role: "group", "aria-label": "Classes" });
    disposables.listen(this.node, "click", (event) => this.#click(event));
  }

  update() {
    const { bag, mode } = this.editor;
    this.node.hidden = bag === null || ["preview", "view"].includes(mode);
    if (this.node.hidden) return;
    this.node.classList.toggle("many", bag.classes.size > MOST_BY_PLACE);
    const { labels, unsure } = countsOf(bag);
    const rows = this.#rows(labels);
    replaceWhenNew(this.node, JSON.stringify([mode, rows, unsure, bag.sure_from]), () => this.#chips(rows, unsure));
  }

  /** The bag's tags, what is seen in it and what is suggested, unless that stands beside it; and classes with a key. */
  #rows(counts) {
    const { bag, mode } = this.editor;
    const tagging = mode === "tag";
    const suggested = new Map(tagging && bag.kind === "picture" ? bag.suggestions : []);
    const beside = new Set(tagging && bag.kind === "sound" ? this.editor.suggestions.entries.map((one) => one.id) : []);
    const [current] = this.editor.selection.segments;
    const chosen = current ? shownLabel(current, bag) : null;
    const listed = [...bag.classes.values()].filter((c) => !beside.has(c.id));
    const numbered = (tagging && bag.kind === "sound") || listed.length > MOST_BY_PLACE;
    const rows = (numbered ? byKey(listed) : listed).map((c) => ({
      id: c.id,
      name: c.name,
      colour: c.colour,
      key: c.keys[0] ?? "",
      tag: bag.tags[c.id] ?? 0,
      count: counts.get(c.id) ?? 0,
      suggested: bag.tags[c.id] === undefined ? (suggested.get(c.id) ?? null) : null,
      chosen: c.id === chosen,
    }));
    const here = (row) => row.tag === 1 || row.count > 0 || row.suggested >= 0.2;
    const others = rows.filter((row) => !here(row) && row.key).slice(0, MOST_OTHERS);
    return rows.filter((row) => here(row) || others.includes(row));
  }

  #chips(rows, unsure) {
    const find = element("button", { type: "button", class: "chip find", "data-find": "yes", title: "Find a class by typing (/)" }, "find…", element("kbd", {}, "/"));
    const background = this.editor.mode === "tag" ? [] : [this.#chip(NONE)];
    const uncertain = this.editor.mode === "tag" || unsure === 0 ? [] : [unsureCount(unsure, this.editor.bag.sure_from)];
    return [...rows.map((row) => this.#chip(row)), ...background, find, ...uncertain];
  }

  #chip(row) {
    const tagging = this.editor.mode === "tag";
    const chip = element("button", { type: "button", class: "chip", "data-class": String(row.id), title: this.#description(row) });
    chip.classList.toggle("tagged", row.tag === 1);
    chip.classList.toggle("suggested", row.suggested !== null && row.suggested >= 0.2);
    chip.classList.toggle("chosen", row.chosen && !tagging);
    if (tagging) chip.setAttribute("aria-pressed", String(row.tag === 1));
    chip.append(element("span", { class: "swatch", style: { background: row.colour } }), nameOfClass(row.name));
    if (row.suggested !== null && row.suggested >= 0.2) chip.append(element("span", { class: "percent" }, percent(row.suggested)));
    else if (!tagging && row.count) chip.append(element("span", { class: "percent" }, String(row.count)));
    if (row.key) chip.append(element("kbd", {}, row.key.toUpperCase()));
    return chip;
  }

  #description(row) {
    if (this.editor.mode === "tag") return `${row.name}: ${row.tag === 1 ? "tagged" : "not tagged"}`;
    return `Label the selected segments ${row.name}${row.tag === 1 ? " (tagged in this bag)" : ""}`;
  }

  #click(event) {
    const chip = event.target.closest("button");
    if (!chip) return;
    const { commands, mode, layers } = this.editor;
    if (chip.dataset.find) commands.find();
    else if (mode === "tag") commands.toggleTag(classId(chip.dataset.class));
    else commands.label(classId(chip.dataset.class));
    if (!chip.dataset.find) layers.node.focus({ preventScroll: true });
  }
}

/** Classes with a number key first, in the order of the keys. */
function byKey(classes) {
  const place = (c) => Number(c.keys.find((key) => /[1-9]/.test(key)) ?? 10);
  return classes.map((c) => [place(c), c]).sort((a, b) => a[0] - b[0]).map(([, c]) => c);
}

/** The id that a text stands for: a number, or "@7" of a class that is not stored yet. */
function classId(text) {
  return Number(text) || text;
}

/** How many segments of the bag have which label, and how many none for sure; by the server where not all are here. */
function countsOf(bag) {
  if (!bag.counts) return countLabels(bag);
  const { labels, unsure } = bag.counts;
  return { labels: new Map(Object.entries(labels).map(([label, n]) => [classId(label), n])), unsure };
}

function unsureCount(n, threshold) {
  const title = `The best guess of ${counted(n, "segment")} is below ${percent(threshold)}: no label is shown for ${n === 1 ? "it" : "them"}`;
  return element("span", { class: "chip unsure", title }, "? uncertain", element("span", { class: "percent" }, String(n)));
}
