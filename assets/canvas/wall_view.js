/** One wall on a page: its list, what is marked, and the parts it consists of. */
import { apiFor } from "./api.js";
import { nameOf } from "./card.js";
import { ClassSearch } from "./class_search.js";
import { Disposables } from "./disposables.js";
import { element } from "./dom.js";
import { isChecked, isUnsure } from "./segment_labels.js";
import { Help } from "./help.js";
import { Notice } from "./notice.js";
import { outboxFor } from "./outbox.js";
import { OutboxPanel } from "./outbox_panel.js";
import { loadValue, saveValue } from "./session_store.js";
import { StreamlitBridge } from "./streamlit_bridge.js";
import { grouped } from "./text.js";
import { NO_SEGMENTS } from "./wall_classes.js";
import { WallCommands } from "./wall_commands.js";
import { WallGrid } from "./wall_grid.js";
import { WallKeyboard } from "./wall_keyboard.js";
import { WallList } from "./wall_list.js";
import { WallMarks, wallKeys } from "./wall_marks.js";
import { WallPlayback } from "./wall_playback.js";
import { WallPopup } from "./wall_popup.js";
import { describeItem, screenSentence } from "./wall_text.js";
import { WallChips, WallToolbar } from "./wall_toolbar.js";

const REFRESH_AFTER = 600; // milliseconds after the last stored edit
const GAP = 6; // between the parts, as in canvas.css
const KEYED_BY = 240; // segments that decide which classes have number keys

export class Wall {
  #timer = null;
  #generation = 0;
  #keyed = false;

  constructor(root) {
    this.root = root;
    this.disposables = new Disposables();
    this.data = null;
    this.bag = null; // the parts shared with the editor ask for it
    this.query = null;
    this.title = "";
    this.kind = "sound";
    this.classes = new Map();
    this.background = NO_SEGMENTS;
    this.total = 0;
    this.cursor = null;
  }

  /** Take the data of a page run: the first one builds the wall, later ones change only what the page changed. */
  update(component) {
    const first = this.data === null;
    this.component = component;
    this.data = component.data;
    this.kind = this.data.kind;
    this.api = apiFor(this.data);
    if (first) this.#build();
    this.outbox.sendThrough(this.api);
    this.#fit();
    const asked = this.data.request;
    if (asked && loadValue(this.#name("request")) !== asked.id) {
      saveValue(this.#name("request"), asked.id);
      this.open(asked.query);
    } else if (first) this.open(loadValue(this.#name("query")));
    this.refresh();
  }

  end() {
    clearTimeout(this.#timer);
    this.disposables.end();
    this.root.replaceChildren();
  }

  #name(what) {
    return `bagtag.wall.${what}.${this.data.project}`;
  }

  #build() {
    const { disposables } = this;
    this.outbox = outboxFor(this.data.project, this.api);
    this.list = new WallList(this.api);
    this.marks = new WallMarks(this.data.project);
    this.commands = new WallCommands(this);
    this.playback = new WallPlayback(disposables, this);
    this.grid = new WallGrid(disposables, this);
    this.area = element("div", { class: "wall-area" }, this.grid.node);
    this.classSearch = new ClassSearch(disposables, { node: this.grid.node, get width() { return this.node.clientWidth; }, get height() { return this.node.clientHeight; } });
    this.notice = new Notice(disposables);
    this.help = new Help(disposables);
    this.popup = new WallPopup(disposables, this);
    this.emptyText = element("div", { class: "empty", hidden: true });
    this.area.append(this.emptyText, this.classSearch.node, this.popup.node, this.help.node, this.notice.node);
    this.toolbar = new WallToolbar(disposables, this);
    this.chips = new WallChips(disposables, this);
    this.status = element("div", { class: "statusbar" }, element("span", { class: "selection" }), element("span", { class: "saved" }));
    this.outboxPanel = new OutboxPanel(this);
    this.bridge = new StreamlitBridge(disposables, this);
    this.live = element("div", { class: "live", role: "log", "aria-live": "polite" });
    new WallKeyboard(disposables, this);
    disposables.listen(this.list, "items", () => this.#arrived());
    disposables.listen(this.list, "cutouts", () => {
      this.grid.refresh();
      this.commands.arrived();
    });
    disposables.listen(this.list, "problem", ({ detail }) => !detail.unauthorized && this.notice.show(detail.message));
    disposables.listen(this.outbox, "change", () => this.refresh());
    disposables.listen(this.outbox, "stored", ({ detail }) => this.#stored(detail.done));
    for (const part of this.#parts) disposables.watchSize(part.node ?? part, () => this.#fit());
    this.root.replaceChildren(this.toolbar.node, this.area, this.chips.node, this.status, this.outboxPanel.node, this.live);
  }

  get #parts() {
    return [this.toolbar, this.chips, this.status, this.outboxPanel];
  }

  /** The tiles get what the page and the other parts leave of the window. */
  #fit() {
    const heights = this.#parts.map((part) => (part.node ?? part).offsetHeight).filter(Boolean);
    const used = heights.reduce((sum, height) => sum + height + GAP, 0);
    this.root.style.setProperty("--around", `${this.data.around + used}px`);
  }

  get bagSync() {
    return { compose: () => this.refresh() };
  }

  // the list

  /** What is kept when another class is chosen. */
  get choices() {
    const { order, show } = this.query ?? {};
    return { ...(order ? { order } : {}), ...(show ? { show } : {}) };
  }

  /** Show the segments of a query: `{predicted, order, show}`, `{selection}` or `{marked}`. */
  async open(query) {
    this.#generation += 1;
    const generation = this.#generation;
    this.leave();
    this.root.classList.add("opening");
    try {
      const wanted = query ?? (await this.#first());
      const found = await this.api.wall(wanted?.marked === undefined ? (wanted ?? {}) : {});
      if (generation !== this.#generation || this.disposables.over) return;
      this.query = wanted;
      saveValue(this.#name("query"), wanted);
      this.#take(found, wanted?.marked === undefined ? found.ids : this.marks.ids);
    } catch (problem) {
      if (generation !== this.#generation || problem.unauthorized) return;
      if (query && problem.status === 404) {
        this.notice.show(problem.message);
        this.open(null);
      } else this.notice.stay(problem.message, () => this.open(query));
    } finally {
      if (generation === this.#generation) this.root.classList.remove("opening");
    }
  }

  /** Without a request: the class with the most segments to check, the certain ones if there are any. */
  async #first() {
    const { classes } = await this.api.wall({});
    const [most] = [...classes].sort((a, b) => b.counts.open - a.counts.open || b.counts.unsure - a.counts.unsure);
    if (!most) return null;
    return { predicted: most.id, show: most.counts.open || !most.counts.unsure ? "open" : "unsure" };
  }

  #take(found, ids) {
    this.#takeClasses(found);
    this.title = this.query?.marked === undefined ? found.title : "Marked as wrong";
    this.total = this.query?.marked === undefined ? found.total : ids.length;
    this.cursor = null;
    this.#keyed = false;
    this.list.open(ids);
    this.grid.reset();
    this.emptyText.hidden = ids.length > 0;
    this.emptyText.textContent = this.query === null ? "This project has no classes yet: add some on the Tag page." : "Nothing is left in this list. Choose another class or another list above.";
    this.refresh();
  }

  #takeClasses({ classes, background }) {
    const keys = new Map([...this.classes].map(([id, one]) => [id, one.keys]));
    this.classes = new Map(classes.map((one) => [one.id, { ...one, keys: keys.get(one.id) ?? (one.shortcut ? [one.shortcut.toLowerCase()] : []) }]));
    this.background = background;
  }

  openMarked() {
    this.open({ marked: "yes" });
    this.grid.node.focus({ preventScroll: true });
  }

  finished() {
    const open = this.list.ids.filter((id) => this.isOpen(id)).length;
    this.notice.show(open ? `This is the end of the list. Still open: ${grouped(open)}.` : "This list is done: choose another class.");
  }

  /** How many segments each list of the class on screen has. */
  get counts() {
    const label = Number(this.query?.predicted);
    return this.classes.get(label)?.counts ?? (label < 0 ? this.background : NO_SEGMENTS);
  }

  isOpen(id) {
    const item = this.list.items.get(id);
    return !this.list.gone.has(id) && (!item || !isChecked(item));
  }

  /** The first items decide which classes get the number keys; then these stay. */
  #arrived() {
    const items = this.list.ids.slice(0, KEYED_BY).map((id) => this.list.items.get(id)).filter(Boolean);
    if (!this.#keyed && items.length) {
      this.#keyed = true;
      const label = this.query?.predicted === undefined ? null : Number(this.query.predicted);
      this.classes = new Map(wallKeys([...this.classes.values()], items, label).map((one) => [one.id, one]));
    }
    this.refresh();
  }

  #stored(done) {
    for (const { edit, result } of done) if (result.error && edit.bag === null) this.commands.refused(edit.number, result.error);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      const found = await this.api.wall({}).catch(() => null);
      if (!found || this.disposables.over) return;
      this.#takeClasses(found);
      this.refresh();
    }, REFRESH_AFTER);
  }

  // what is on screen

  /** Fetch what is visible, then the next screen, then the one before. */
  scrolled() {
    const { layout, node } = this.grid;
    const [first, last] = layout.range(node.scrollTop);
    const page = Math.max(last - first, 1);
    const { ids } = this.list;
    this.list.want([...ids.slice(first, last), ...ids.slice(last, last + page + layout.columns), ...ids.slice(Math.max(0, first - page), first)]);
    this.toolbar.place.textContent = this.placeText;
    this.#updateStatus();
  }

  get placeText() {
    const { ids } = this.list;
    if (ids.length === 0) return "";
    const [first, last] = this.grid.layout.screen(this.grid.node.scrollTop);
    return `${grouped(first + 1)} – ${grouped(last)} of ${grouped(this.total)}`;
  }

  setCursor(id, { quiet = false } = {}) {
    this.cursor = id;
    if (id === null) this.grid.node.removeAttribute("aria-activedescendant");
    else this.grid.node.setAttribute("aria-activedescendant", `segment-${id}`);
    if (id !== null && !quiet) this.playback.listen(id);
  }

  /** The pointer rests on a tile: play its sound, or show its picture enlarged. */
  showHovered(id, tile) {
    if (this.kind === "sound") this.playback.listen(id);
    else if (tile) this.popup.show(id, tile);
  }

  leave() {
    this.popup.hide();
    this.playback.stop();
  }

  toggleHelp() {
    this.help.toggle("wall", this.kind);
  }

  findClass() {
    const classes = [...this.classes.values()];
    this.classSearch.show({ classes, at: { x: 20, y: 20 }, choose: (one) => this.commands.label(one.id), mayCreate: false });
  }

  announce(sentence) {
    this.live.textContent = sentence;
  }

  nameOf(label) {
    return nameOf(label, this);
  }

  /** The probability from which on a prediction is a label, as a bag has it. */
  get sure_from() {
    return this.data.sureFrom;
  }

  /** Is there only an uncertain guess for it? */
  isGuess(id) {
    const item = this.list.items.get(id);
    return item !== undefined && isUnsure(item, this);
  }

  describe(id) {
    return describeItem(this.list.items.get(id), this.marks, this);
  }

  refresh() {
    if (!this.toolbar) return;
    this.toolbar.update();
    this.chips.update();
    this.outboxPanel.update();
    this.#updateStatus();
    this.grid.refresh();
  }

  #updateStatus() {
    const [text, saved] = this.status.children;
    text.textContent = this.list.ids.length ? screenSentence(this.grid.screen, this.marks, (id) => this.isOpen(id), (id) => this.isGuess(id)) : "";
    saved.textContent = { saved: this.outbox.number ? "Saved" : "", saving: "Saving…", offline: "Not saved yet" }[this.outbox.state];
    saved.dataset.state = this.outbox.state;
  }
}
