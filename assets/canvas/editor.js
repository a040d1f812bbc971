/** One canvas on a page: what is shown, what is selected, and the parts it consists of. */
import { apiFor } from "./api.js";
import { Backdrop } from "./backdrop.js";
import { BagDisplay } from "./bag_display.js";
import { BagSync } from "./bag_sync.js";
import { Card } from "./card.js";
import { ClassSearch } from "./class_search.js";
import { readTheme } from "./colours.js";
import { Commands } from "./commands.js";
import { contrastFor } from "./contrast.js";
import { Counters } from "./counters.js";
import { Disposables } from "./disposables.js";
import { element } from "./dom.js";
import { DrawingTools } from "./drawing_tools.js";
import { Help } from "./help.js";
import { Keyboard } from "./keyboard.js";
import { Layers, layersHeight } from "./layers.js";
import { Legend } from "./legend.js";
import { Navigation } from "./navigation.js";
import { Notice } from "./notice.js";
import { NumberKeys } from "./number_keys.js";
import { outboxFor } from "./outbox.js";
import { OutboxPanel } from "./outbox_panel.js";
import { Overview } from "./overview.js";
import { LayerPainter } from "./layer_painter.js";
import { Playback } from "./playback.js";
import { Pointer } from "./pointer.js";
import { Queue } from "./queue.js";
import { QueueNavigation } from "./queue_navigation.js";
import { Selection } from "./selection.js";
import { SidePanel } from "./side_panel.js";
import { StatusBar } from "./statusbar.js";
import { StreamlitBridge } from "./streamlit_bridge.js";
import { SuggestionPanel } from "./suggestion_panel.js";
import { Suggestions } from "./suggestions.js";
import { TagBar } from "./tagbar.js";
import { Toolbar } from "./toolbar.js";
import { ViewPanel } from "./view_panel.js";
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
    this.numberKeys = new NumberKeys();
    this.tools = new DrawingTools(this);
    this.hovered = null;
    this.painter = new LayerPainter(this);
    this.display = new BagDisplay(this);
  }

  get mode() {
    return this.data.mode;
  }

  get player() {
    return this.playback.player;
  }

  /** Is another bag than the one on screen being opened? What is done now is not meant for the one still there. */
  get isOpening() {
    return this.bag !== null && this.item !== null && this.item[0] !== this.bag.id;
  }

  /** Are segments drawn without labels? */
  get isQuiet() {
    return this.mode === "preview" || this.mode === "tag";
  }

  /** Take the data of a page run: the first one builds the canvas, later ones change only what the page changed. */
  update(component) {
    const first = this.data === null;
    const { sureFrom } = this.data ?? component.data;
    this.component = component;
    this.data = component.data;
    const sameToken = this.api?.token === this.data.token;
    this.api = apiFor(this.data);
    if (first) this.#build();
    this.outbox.sendThrough(this.api);
    this.root.style.setProperty("--canvas-height", layersHeight(this.data));
    this.root.dataset.mode = this.mode;
    this.root.dataset.suggests = this.data.suggests ?? "";
    this.theme = readTheme(this.root);
    this.queueNavigation.open();
    const isStale = !sameToken || sureFrom !== this.data.sureFrom;
    if (!first && isStale && this.item !== null) {
      if (!sameToken) this.suggestions.again();
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
    const { disposables, painter } = this;
    this.outbox = outboxFor(this.data.project, this.api);
    this.queue = new Queue((query) => this.api.queue(query), `bagtag.queue.${this.data.project}.${this.data.name}`);
    this.queueNavigation = new QueueNavigation(this);
    this.counters = new Counters(disposables, { api: this.api, outbox: this.outbox, project: this.data.project });
    this.layers = new Layers(disposables, {
      base: (ctx) => painter.base(ctx),
      segments: (ctx) => painter.segments(ctx),
      overlay: (ctx) => painter.overlay(ctx),
    });
    this.layers.onSize = () => this.navigation.fit();
    this.notice = new Notice(disposables);
    this.notice.onChange = () => this.outboxPanel?.update();
    this.card = new Card(this.layers);
    this.classSearch = new ClassSearch(disposables, this.layers);
    this.help = new Help(disposables);
    this.contrast = contrastFor(this.data.project);
    this.viewPanel = new ViewPanel(disposables, this);
    this.live = element("div", { class: "live", role: "log", "aria-live": "polite" });
    this.emptyText = element("div", { class: "empty", hidden: true });
    this.layers.node.append(this.emptyText, this.card.node, this.classSearch.node, this.help.node, this.viewPanel.node, this.notice.node);
    this.bagSync = new BagSync(disposables, this.api, this.outbox, {
      onBag: (bag) => this.display.show(bag),
      onProblem: (problem) => this.display.showProblem(problem),
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
    disposables.listen(this.contrast, "change", () => this.refreshPanels("base"));
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

  /** Go to another item of the queue. */
  goBy(step) {
    this.queueNavigation.goBy(step);
  }

  // selection

  selectionChanged() {
    const { segments } = this.selection;
    this.display.selectionChanged();
    this.numberSegmentClasses();
    if (segments.length === 1 && this.view.reveal(segments[0].shape.box)) this.layers.refresh();
    this.refreshPanels("overlay");
    if (segments.length) this.announce(this.statusBar.middle.textContent);
  }

  /** Give the classes of the bag on screen the number keys that label the selected segments. */
  numberSegmentClasses() {
    if (this.bag !== null && this.mode !== "tag") this.numberKeys.forLabels(this.bag, this.selection.segments);
  }

  goToUnchecked() {
    if (!this.selection.stepToUnchecked()) this.announceAllChecked();
  }

  announceAllChecked() {
    this.announce("Every segment of this bag is checked. N goes to the next bag.");
  }

  hoverAt(at, readAt = at) {
    this.hovered = this.tools.current === "select" ? this.selection.idAt(at) : null;
    this.statusBar.point(this.view, readAt);
    const segment = this.hovered === null ? null : this.selection.find(this.hovered);
    if (segment && !this.isQuiet) this.card.show(segment, this.bag, at);
    else this.card.hide();
    this.layers.refresh("overlay");
  }

  clickAt(at, more) {
    this.help.hide();
    this.viewPanel.hide();
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

  toggleLoop() {
    this.player.setLoop(!this.player.loop);
  }

  toggleHelp() {
    this.viewPanel.hide();
    this.help.toggle(this.mode, this.bag?.kind ?? "sound");
  }

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
    this.viewPanel.update();
    if (!layers.includes("nothing")) this.layers.refresh(...layers);
  }
}
