/** The suggested tags of a sound, beside it in tag mode: a click or a number tags the bag. Its size never changes. */
import { percent } from "./card.js";
import { element, nameOfClass, replaceWhenNew } from "./dom.js";

export class SuggestionPanel {
  constructor(disposables, editor) {
    this.editor = editor;
    this.list = element("div", { class: "list", role: "group", "aria-label": "Suggested tags" });
    this.note = element("p", { class: "note", role: "status" });
    this.node = element("section", { class: "suggestion-panel" }, element("h3", {}, "Suggestions"), element("div", { class: "body" }, this.list, this.note));
    disposables.listen(this.list, "click", (event) => this.#click(event));
  }

  update() {
    const { bag, data, suggestions } = this.editor;
    this.node.hidden = !data.suggests;
    if (this.node.hidden) return;
    const entries = bag === null ? [] : suggestions.entries;
    replaceWhenNew(this.list, JSON.stringify([bag?.id, entries]), () => entries.map((one) => suggestionRow(one)));
    this.note.textContent = bag === null ? "" : suggestions.waiting ? "BirdNET is analysing the clip …" : suggestions.note;
    this.note.title = this.note.textContent;
  }

  #click(event) {
    const row = event.target.closest("button");
    const chosen = row && this.editor.suggestions.entries.find((one) => one.name === row.dataset.suggestion);
    if (!chosen) return;
    this.editor.commands.toggleSuggestion(chosen);
    this.editor.layers.node.focus({ preventScroll: true });
  }
}

function suggestionRow(one) {
  const tagged = one.tag === 1;
  const row = element("button", { type: "button", class: "suggestion", title: description(one), "aria-pressed": String(tagged), "data-suggestion": one.name });
  row.classList.toggle("tagged", tagged);
  row.classList.toggle("new", one.id === null);
  const mark = element("span", { class: "mark", "aria-hidden": "true" }, tagged ? "✓" : one.id === null ? "+" : "");
  if (!tagged && one.id !== null) mark.append(element("span", { class: "swatch", style: { background: one.colour } }));
  const bar = element("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", `${Math.round(100 * one.probability)}%`);
  const names = element("span", { class: "names" }, nameOfClass(one.name), element("span", { class: "source" }, one.source));
  const key = element("kbd", {}, one.digit);
  key.classList.toggle("none", one.digit === "");
  row.append(key, mark, names, bar, element("span", { class: "percent" }, percent(one.probability)));
  return row;
}

function description({ id, name, scientific_name, probability, source, tag }) {
  const scientific = scientific_name && scientific_name !== name ? ` (${scientific_name})` : "";
  const state = tag === 1 ? "tagged" : tag === -1 ? "tagged as absent" : id === null ? "not a class yet: adds it and tags the clip" : "not tagged";
  return `${name}${scientific}: ${percent(probability)} by ${source}; ${state}`;
}
