/** How the picture is shown: brightness and contrast in this browser, the frequency range for the whole project. */
import { element } from "./dom.js";

export class ViewPanel {
  constructor(disposables, editor) {
    this.editor = editor;
    const steps = (name, title) => this.#steps(disposables, name, title);
    this.reset = this.#button(disposables, "Reset", "Reset brightness and contrast (Shift+Backspace)", () => editor.contrast.reset());
    this.low = this.#field(disposables, "Lowest frequency in kHz");
    this.high = this.#field(disposables, "Highest frequency in kHz");
    this.all = this.#button(disposables, "All", "Show all frequencies again", () => this.#send(null, null));
    this.problem = element("p", { class: "note warning", role: "alert" });
    this.band = element(
      "div",
      { class: "view-band" },
      element("div", { class: "view-row" }, element("span", {}, "Frequencies"), this.low, "–", this.high, "kHz", this.all),
      element("p", { class: "note" }, "For all bags of the project. What is analysed stays the same."),
      this.problem,
    );
    this.node = element("div", { class: "view-panel", hidden: true, role: "dialog", "aria-label": "View" }, steps("brightness", "Brightness"), steps("contrast", "Contrast"), this.reset, this.band);
  }

  get open() {
    return !this.node.hidden;
  }

  toggle() {
    this.node.hidden = this.open;
    this.problem.textContent = "";
    this.editor.help.hide();
    this.editor.refreshPanels("nothing");
  }

  hide() {
    this.node.hidden = true;
  }

  update() {
    if (!this.open) return;
    const { bag, contrast } = this.editor;
    this.reset.disabled = !contrast.isChanged;
    for (const name of ["brightness", "contrast"]) this[name].textContent = contrast[name] > 0 ? `+${contrast[name]}` : String(contrast[name]).replace("-", "−");
    const band = bag?.view?.band ?? null;
    this.band.hidden = !bag?.view;
    this.all.disabled = band === null;
    this.#write(this.low, band?.[0] ?? null, bag?.extent.bottom);
    this.#write(this.high, band?.[1] ?? null, bag?.extent.top);
  }

  /** A field shows what is stored, unless somebody is typing in it; what holds without an entry stands in grey. */
  #write(field, hertz, otherwise) {
    field.placeholder = otherwise === undefined ? "" : kilohertz(Math.max(0, otherwise));
    if (field.getRootNode().activeElement !== field) field.value = hertz === null ? "" : kilohertz(hertz);
  }

  #steps(disposables, name, title) {
    this[name] = element("output", {});
    const less = this.#button(disposables, "−", `Less ${name}`, () => this.editor.contrast.change({ [name]: -1 }));
    const more = this.#button(disposables, "+", `More ${name}`, () => this.editor.contrast.change({ [name]: 1 }));
    return element("div", { class: "view-row" }, element("span", {}, title), less, this[name], more);
  }

  #field(disposables, title) {
    const field = element("input", { type: "text", inputMode: "decimal", title, "aria-label": title, autocomplete: "off" });
    disposables.listen(field, "change", () => this.#enter());
    disposables.listen(field, "keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Enter") return;
      field.blur();
      this.editor.layers.node.focus({ preventScroll: true });
    });
    return field;
  }

  #button(disposables, label, title, act) {
    const button = element("button", { type: "button", title, "aria-label": title }, label);
    disposables.listen(button, "click", act);
    return button;
  }

  #enter() {
    const ends = [this.low, this.high].map((field) => hertzIn(field.value));
    if (ends.some(Number.isNaN)) this.problem.textContent = "Enter frequencies in kHz, such as 2.5, or nothing.";
    else this.#send(...ends);
  }

  async #send(low, high) {
    const { api, bagSync } = this.editor;
    this.problem.textContent = "";
    try {
      await api.setViewBand(low, high);
      await bagSync.fetch({ quietly: true });
    } catch (problem) {
      this.problem.textContent = problem.message;
    }
    this.update();
  }
}

function kilohertz(hertz) {
  return String(Math.round(hertz / 10) / 100);
}

/** Hertz of an entry in kilohertz; null where it is empty, NaN where it is no number. */
function hertzIn(text) {
  const entered = text.trim().replace(",", ".");
  return entered === "" ? null : /^\d+(\.\d+)?$/.test(entered) ? 1000 * Number(entered) : NaN;
}
