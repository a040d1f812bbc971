/** One canvas on a page: what is shown, what is selected, and the parts it consists of. */
import { apiFor } from "./api.js";
import { paintAxes } from "./axes.js";
import { Backdrop } from "./backdrop.js";
import { BagSync } from "./bag_sync.js";
import { Card } from "./card.js";
import { ClassSearch } from "./class_search.js";
import { readTheme } from "./colours.js";
import { Commands } from "./commands.js";
import { Disposables } from "./disposables.js";
import { Counters } from "./counters.js";
import { element } from "./dom.js";
import { Help } from "./help.js";
import { Keyboard } from "./keyboard.js";
import { Layers, layersHeight } from "./layers.js";
import { Legend } from "./legend.js";
import { Navigation } from "./navigation.js";
import { Notice } from "./notice.js";
import { outboxFor } from "./outbox.js";
import { OutboxPanel } from "./outbox_panel.js";
import { Overview, paintDensity } from "./overview.js";
import { paintDraft, paintMarks, paintPlayhead } from "./paint.js";
import { Playback } from "./playback.js";
import { Pointer } from "./pointer.js";
import { Queue } from "./queue.js";
import { QueueNavigation } from "./queue_navigation.js";
import { Scene } from "./scene.js";
import { Selection } from "./selection.js";
import { makeShape } from "./shapes.js";
import { SidePanel } from "./side_panel.js";
import { StatusBar } from "./statusbar.js";
import { StreamlitBridge } from "./streamlit_bridge.js";
import { SuggestionPanel } from "./suggestion_panel.js";
import { Suggestions } from "./suggestions.js";
import { TagBar } from "./tagbar.js";
import { tilesFor } from "./tiles.js";
import { Toolbar } from "./toolbar.js";
import { Viewport } from "./viewport.js";

export class Editor {
  constructor(root) {
    this.root = root;
    this.disposables = new Disposables();
    this.data = null;
    this.bag = null;
    this.view = new Viewport({ left: 0, right: 1, top: 1, bottom: 0, scale: "linear" }, "sound");
    this.item = null;
    this.selection = new Selection(this);
    this.navigation = new Navigation(this);
    this.pending = null; // a segment to select as soon as it is here
    this.hovered = null;
    this.draft = null;
    this.tool = "select";
    this.scene = new Scene();
  }

  get mode() {
    return this.data.mode;
  }

  get player() {
    return this.playback.player;
  }

  /** Take the data of a page run: the first one builds the canvas, later ones change only what the page changed. */
  update(component) {
    const first = this.data === null;
    this.component = component;
    this.data = component.data;
    const sameToken = this.api?.token === this.data.token;
    this.api = apiFor(this.data);
    if (first) this.#build();
    this.outbox.sendThrough(this.api);
    this.root.style.setProperty("--stage-height", layersHeight(this.data));
    this.root.dataset.mode = this.mode;
    this.root.dataset.suggests = this.data.suggests ?? "";
    this.theme = readTheme(this.root);
    this.queueNavigation.open();
    if (!first && !sameToken && this.item !== null) {
      this.suggestions.again();
      this.bagSync.fetch({ quietly: true });
    }
    this.layers.measure();
    this.refreshPanels();
  }

  end() {
    this.navigation.remember();
    this.disposables.end();
    this.root.replaceChildren();
  }

  #build() {
    const { disposables } = this;
    this.outbox = outboxFor(this.data.project, this.api);
    this.queue = new Queue((query) => this.api.queue(query), `bagtag.queue.${this.data.project}.${this.data.name}`);
    this.queueNavigation = new QueueNavigation(this);
    this.counters = new Counters(disposables, { api: this.api, outbox: this.outbox, project: this.data.project });
    this.layers = new Layers(disposables, {
      base: (ctx) => this.#paintBase(ctx),
      segments: (ctx) => this.#paintSegments(ctx),
      overlay: (ctx) => this.#paintOverlay(ctx),
    });
    this.layers.onSize = () => this.navigation.fit();
    this.notice = new Notice(disposables);
    this.card = new Card(this.layers);
    this.classSearch = new ClassSearch(disposables, this.layers);
    this.help = new Help(disposables);
    this.live = element("div", { class: "live", role: "log", "aria-live": "polite" });
    this.emptyText = element("div", { class: "empty", hidden: true });
    this.layers.node.append(this.emptyText, this.card.node, this.classSearch.node, this.help.node, this.notice.node);
    this.bagSync = new BagSync(disposables, this.api, this.outbox, {
      onBag: (bag) => this.#show(bag),
      onProblem: (problem) => this.showProblem(problem),
      onResult: (done) => this.commands.explain(done),
      onNews: () => this.suggestions.again(),
      onRevision: (revision) => this.#showsCounters && this.counters.changedTo(revision),
      selected: () => this.selection.ids,
    });
    this.backdrop = new Backdrop(this);
    this.overview = new Overview(disposables, this);
    this.bridge = new StreamlitBridge(disposables, this);
    this.commands = new Commands(this);
    this.suggestions = new Suggestions(this);
    this.playback = new Playback(this);
    this.toolbar = new Toolbar(disposables, this);
    this.legend = new Legend(disposables, this);
    this.tagBar = new TagBar(disposables, this);
    this.statusBar = new StatusBar();
    this.outboxPanel = new OutboxPanel(this);
    this.suggestionPanel = new SuggestionPanel(disposables, this);
    this.sidePanel = new SidePanel(disposables, this);
    new Pointer(disposables, this.layers, this);
    new Keyboard(disposables, this);
    disposables.listen(this.outbox, "change", () => this.refreshPanels("nothing"));
    disposables.listen(this.queue, "change", () => this.refreshPanels("nothing"));
    const { toolbar, layers, overview, statusBar, outboxPanel, legend, tagBar } = this;
    const parts = [toolbar, layers, overview, statusBar, outboxPanel, legend, tagBar];
    const main = element("div", { class: "main" }, ...parts.map((part) => part.node));
    this.root.replaceChildren(element("div", { class: "columns" }, main, this.sidePanel.node), this.live);
    if (this.#showsCounters) this.counters.refresh();
  }

  get #showsCounters() {
    return ["review", "tag"].includes(this.mode);
  }

  // bags

  /** Go to another item of the queue. */
  goBy(step) {
    this.queueNavigation.goBy(step);
  }

  /** Show an item of the queue; null when it is empty. */
  openItem(item) {
    const sameBag = item !== null && item[0] === this.bag?.id && !this.data.preview;
    this.navigation.remember();
    this.item = item;
    this.setTool("select");
    this.notice.hide();
    this.#showEmpty(item === null);
    if (item === null) return;
    if (sameBag) {
      this.#selectItem();
      if (this.pending !== null && this.bag.range) this.navigation.goToSegment(this.pending);
      this.refreshPanels();
      return;
    }
    this.layers.node.classList.toggle("waiting", this.bag === null);
    this.bagSync.open(item, this.data.preview ?? null).then(() => this.#preload());
  }

  #showEmpty(empty) {
    this.emptyText.hidden = !empty;
    if (!empty) return;
    this.emptyText.textContent = this.mode === "tag"
      ? "Every bag of this list is finished. Choose “All” above to see the finished ones, or train a model."
      : "Nothing is left in this list. Choose another list above.";
    this.layers.node.classList.remove("waiting");
    this.bag = null;
    this.scene = new Scene();
    this.selection.ids = [];
    this.bagSync.close();
    this.refreshPanels();
  }

  showProblem(problem, retry = () => this.#retry()) {
    if (problem.unauthorized) return;
    this.layers.node.classList.remove("waiting");
    if (problem.status === 410 && this.queue.total > 1) {
      this.queue.drop();
      this.openItem(this.queue.current);
      this.notice.show("A bag of this list was removed from the project.");
    } else this.notice.stay(problem.message, retry);
  }

  #retry() {
    this.notice.hide();
    this.bagSync.open(this.item, this.data.preview ?? null);
  }

  async #preload() {
    for (const item of this.queue.soon()) {
      if (this.disposables.over || item[0] === this.bag?.id) continue;
      await this.api.preload(item, (bag) => this.#firstTiles(bag, item[1])).catch(() => {});
    }
  }

  /** The tiles a bag will be opened with, at a segment or at its beginning. */
  #firstTiles(bag, segment) {
    const view = new Viewport(bag.extent, bag.kind, bag.opening);
    if (segment !== null && bag.range) view.centreOn((bag.range.from + bag.range.to) / 2 - bag.extent.left);
    return tilesFor(bag.tiles, view, this.view.plot.width * this.layers.ratio).wanted;
  }

  /** Show a bag, or the same bag with changes; in that case zoom and selection stay. */
  #show(bag) {
    this.layers.node.classList.remove("waiting");
    const another = bag.id !== this.bag?.id;
    const moved = another || JSON.stringify(bag.extent) !== JSON.stringify(this.bag.extent);
    if (moved) this.view = new Viewport(bag.extent, bag.kind, bag.opening);
    const before = new Map(moved ? [] : this.bag.segments.map((segment) => [segment.id, segment]));
    this.bag = bag;
    this.suggestions.show(bag);
    for (const segment of bag.segments) this.#giveShape(segment, before.get(segment.id), moved);
    if (moved) this.navigation.fit();
    if (another) this.#arrive();
    else this.selection.keep(this.bagSync.renamed);
    if (this.pending !== null && this.selection.find(this.pending)) this.#selectItem();
    if (this.hovered !== null && !this.selection.find(this.hovered)) this.hovered = null;
    this.backdrop.show(bag);
    this.counters.note(bag);
    this.refreshPanels();
  }

  /** Outlines that did not change keep their prepared shape. */
  #giveShape(segment, before, moved) {
    if (segment.shape && !moved) return;
    const same = before?.shape && String(before.rings) === String(segment.rings);
    segment.shape = same ? before.shape : makeShape(segment.rings, this.view);
  }

  #arrive() {
    this.playback.openBag(this.bag);
    this.hovered = null;
    this.selection.ids = [];
    const before = this.navigation.recall();
    if (this.item[1] !== null) this.#selectItem();
    else this.selection.ids = before.filter((id) => this.selection.find(id));
    const n = this.bag.counts?.segments ?? this.bag.segments.length;
    const what = this.bag.kind === "sound" ? "Spectrogram" : "Picture";
    this.layers.node.setAttribute("aria-label", `${what} of ${this.bag.name}, ${n} segments. Press ? for the keys.`);
    if (this.data.autoplay) this.playback.play();
    this.queueNavigation.noteBag(this.bag.id);
    this.bridge.reportBag();
  }

  /** Select the item's segment, or wait for it: of a long bag it may lie outside what is loaded. */
  #selectItem() {
    const wanted = this.item[1];
    const here = wanted !== null && this.selection.find(wanted);
    this.pending = wanted !== null && !here ? wanted : null;
    if (here) this.selection.select([wanted]);
  }

  // selection

  selectionChanged() {
    const { segments } = this.selection;
    this.pending = null;
    if (segments.length === 1 && this.view.reveal(segments[0].shape.box)) this.layers.refresh();
    this.refreshPanels("overlay");
    if (segments.length) this.announce(this.statusBar.middle.textContent);
  }

  goToUnchecked() {
    if (!this.selection.stepToUnchecked()) this.announceAllChecked();
  }

  announceAllChecked() {
    this.announce("Every segment of this bag is checked. N goes to the next bag.");
  }

  hoverAt(at, readAt = at) {
    this.hovered = this.tool === "select" ? this.selection.idAt(at) : null;
    this.statusBar.point(this.view, readAt);
    const segment = this.hovered === null ? null : this.selection.find(this.hovered);
    if (segment && !this.#quiet) this.card.show(segment, this.bag, at);
    else this.card.hide();
    this.layers.refresh("overlay");
  }

  clickAt(at, more) {
    this.help.hide();
    const id = this.selection.idAt(at);
    if (id !== null && more) this.selection.toggle(id);
    else if (id !== null) this.selection.select([id]);
    else if (!more && this.view.contains(at.x, at.y)) this.#clickNothing(at);
    this.layers.paintNow(["overlay"]);
  }

  #clickNothing(at) {
    this.playback.mark = this.view.insideAt(at.x, at.y).x;
    this.selection.select([]);
  }

  placeOfSelection() {
    const [segment] = this.selection.segments;
    const { plot } = this.view;
    if (!segment) return { x: plot.x + 16, y: plot.y + 16 };
    const { u1, v0, v1 } = segment.shape.box;
    const at = this.view.pixelAt(u1, (v0 + v1) / 2);
    return { x: at.x + 10, y: at.y - 20 };
  }

  // tools

  setTool(tool) {
    this.tool = tool;
    this.layers.node.dataset.tool = tool;
    this.setDraft(null);
    this.refreshPanels("overlay");
  }

  toggleTool(tool) {
    const needsOne = tool === "redraw" || tool === "split";
    if (needsOne && this.tool !== tool && this.selection.ids.length !== 1) {
      this.notice.show("Select the one segment to change first.");
      return;
    }
    this.setTool(this.tool === tool ? "select" : tool);
  }

  nextDrawTool() {
    this.setTool({ box: "lasso", lasso: "select" }[this.tool] ?? "box");
  }

  setDraft(points) {
    this.draft = points;
    this.layers.refresh("overlay");
  }

  toggleLoop() {
    this.player.setLoop(!this.player.loop);
  }

  toggleHelp() {
    this.help.toggle(this.mode, this.bag?.kind ?? "sound");
  }

  // the page

  announce(sentence) {
    this.live.textContent = sentence;
  }

  /** Update buttons, status line, legend and side panel, and repaint (all layers, unless some are named). */
  refreshPanels(...layers) {
    if (!this.sidePanel) return;
    this.toolbar.update();
    this.statusBar.update(this);
    this.outboxPanel.update();
    this.legend.update();
    this.tagBar.update();
    this.suggestionPanel.update();
    this.sidePanel.update();
    if (!layers.includes("nothing")) this.layers.refresh(...layers);
  }

  // painting

  get #quiet() {
    return this.mode === "preview" || this.mode === "tag";
  }

  #paintBase(ctx) {
    const { x, y, width, height } = this.view.plot;
    this.layers.clear(ctx);
    ctx.fillStyle = this.theme.raised;
    ctx.fillRect(x, y, width, height);
    if (this.bag === null) return;
    this.backdrop.paint(ctx);
    paintDensity(ctx, this.view, this.bag);
    paintAxes(ctx, this.view, this.theme);
    this.overview.paint();
    this.bagSync.cover(this.navigation.range);
  }

  #paintSegments(ctx) {
    if (this.bag === null) return this.layers.clear(ctx);
    const { width, height, ratio } = this.layers;
    this.scene.paint(ctx, this.view, this.bag, this.theme, this.#quiet, [width, height, ratio]);
  }

  #paintOverlay(ctx) {
    this.layers.clear(ctx);
    if (this.bag === null) return;
    const { ids, segments } = this.selection;
    const hovered = this.hovered !== null && !ids.includes(this.hovered) ? [this.selection.find(this.hovered)] : [];
    paintMarks(ctx, this.view, hovered.filter(Boolean), segments, this.bag.classes);
    if (this.draft) paintDraft(ctx, this.view, this.draft, this.tool !== "split");
    if (this.bag.kind === "sound") paintPlayhead(ctx, this.view, this.player.position ?? this.playback.mark, this.player.playing);
  }
}
