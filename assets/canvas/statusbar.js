/** The line under the canvas: the place of the pointer, the selection in words, and whether the edits are stored. */
import { formatTime } from "./axes.js";
import { selectionText } from "./commands.js";
import { element } from "./dom.js";
import { isChecked } from "./segment_labels.js";
import { counted, grouped } from "./text.js";

const HINTS = {
  box: "Drag a box around a call or an object. D: lasso",
  lasso: "Draw around it with the button held down. D: stop drawing",
  redraw: "Draw the new outline of the selected segment. E: stop",
  split: "Draw a line across the selected segment. S: stop",
};

export class StatusBar {
  constructor() {
    this.readout = element("span", { class: "readout" });
    this.middle = element("span", { class: "selection" });
    this.saved = element("span", { class: "saved", role: "status" });
    this.node = element("div", { class: "statusbar" }, this.middle, this.readout, this.saved);
  }

  /** What lies under the pointer, in real units. */
  point(view, at) {
    this.readout.textContent = at && view.contains(at.x, at.y) ? readoutOf(view, at) : "";
  }

  update(editor) {
    const { bag, outbox } = editor;
    const tool = editor.tools.current;
    const selected = editor.selection.segments;
    this.middle.textContent = tool !== "select" ? HINTS[tool] : bag ? selectionText(selected, bag) || summary(bag) : "";
    const n = outbox.unsent.length;
    const readOnly = ["view", "preview"].includes(editor.mode);
    const aside = outbox.aside.length + outbox.questions.length;
    this.saved.dataset.state = aside ? "offline" : outbox.state;
    this.saved.hidden = readOnly;
    this.saved.textContent = { saved: "saved", saving: "saving…", offline: `offline, ${n} unsent` }[outbox.state];
    if (aside) this.saved.append(`, ${aside} not saved`);
  }
}

function readoutOf(view, at) {
  const { x, y } = view.realAt(at.x, at.y);
  if (view.kind === "picture") return `${Math.round(x)}, ${Math.round(y)} px`;
  return `${formatTime(x, 3, view.extent.right)} s · ${(y / 1000).toFixed(2)} kHz`;
}

function summary(bag) {
  const n = bag.counts?.segments ?? bag.segments.length;
  const checked = bag.counts?.checked ?? bag.segments.filter(isChecked).length;
  if (n === 0) return "no segments";
  return `${counted(n, "segment")}${checked ? `, ${grouped(checked)} checked` : ""}${manyInView(bag.range)}`;
}

/** Why segments of a long bag are not drawn as usual. */
function manyInView(range) {
  if (range?.detail === "none") return ` · ${grouped(range.total)} in view: zoom in to see them`;
  return range?.detail === "boxes" ? " · shown as boxes: zoom in for outlines" : "";
}
