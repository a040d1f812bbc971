/** The list of keyboard shortcuts, over the canvas. */
import { element } from "./dom.js";
import { keysFor } from "./keys.js";

export class Help {
  constructor(disposables) {
    this.node = element("div", { class: "help", hidden: true, role: "dialog", "aria-label": "Keyboard shortcuts" });
    disposables.listen(this.node, "click", () => this.hide());
  }

  toggle(mode, kind) {
    if (!this.node.hidden) return this.hide();
    const groups = Map.groupBy(keysFor(mode, kind).filter((row) => row.shown), (row) => row.group);
    this.node.replaceChildren(...[...groups].map(([name, rows]) => group(name, rows)));
    this.node.hidden = false;
    return undefined;
  }

  hide() {
    this.node.hidden = true;
  }
}

function group(name, rows) {
  const lines = rows.flatMap((row) => [element("dt", {}, ...keyCaps(row.shown)), element("dd", {}, row.description)]);
  return element("section", {}, element("h3", {}, name), element("dl", {}, ...lines));
}

function keyCaps(shown) {
  return shown.split(" ").map((cap) => (cap === "–" ? " – " : element("kbd", {}, cap)));
}
