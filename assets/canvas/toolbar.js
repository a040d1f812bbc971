/** The row of buttons above the canvas. */
import { SPEEDS } from "./audio_player.js";
import { element, icon } from "./dom.js";
import { ICONS } from "./icons.js";

export class Toolbar {
  #buttons = new Map();

  constructor(disposables, editor) {
    this.editor = editor;
    this.disposables = disposables;
    this.title = element("span", { class: "title" });
    this.place = element("span", { class: "place" });
    this.speed = this.#speedMenu();
    this.groups = this.#makeGroups();
    this.node = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Canvas" }, ...this.groups.map(({ node }) => node));
  }

  #makeGroups() {
    const { editor } = this;
    const button = (...args) => this.#button(...args);
    const group = (shown, ...children) => ({ shown, node: element("div", { class: "group" }, ...children) });
    const editing = () => ["review", "segment"].includes(editor.mode);
    return [
      group(() => true, button("previous", "Previous (P)", () => editor.goBy(-1)), button("next", "Next (N)", () => editor.goBy(1)), this.title, this.place),
      group(
        () => editor.bag?.kind === "sound",
        button("play", "Play the segment, or from the playhead (Space)", () => editor.playback.toggle()),
        button("band", "Play the segment's band only (Shift+Space)", () => editor.playback.toggle({ band: true })),
        button("loop", "Loop (L)", () => editor.toggleLoop()),
        this.speed,
      ),
      group(
        editing,
        button("select", "Select and move", () => editor.tools.use("select")),
        button("box", "Draw a box (D)", () => editor.tools.toggle("box")),
        button("lasso", "Draw a lasso (D D)", () => editor.tools.toggle("lasso")),
        button("redraw", "Redraw the outline (E)", () => editor.tools.toggle("redraw")),
        button("split", "Split along a line (S)", () => editor.tools.toggle("split")),
        button("merge", "Merge the selected (M)", () => editor.commands.merge()),
        button("remove", "Delete (X)", () => editor.commands.remove()),
      ),
      group(
        () => editor.mode === "review",
        button("accept", "Accept and go to the next item of the list (Enter)", () => editor.commands.accept()),
        button("acceptAll", "Accept all predictions of the bag above the threshold (Shift+Enter)", () => editor.commands.acceptBag()),
      ),
      group(
        () => editor.bag !== null && ["review", "segment", "tag"].includes(editor.mode),
        button("undo", "Undo (Ctrl+Z)", () => editor.commands.undo()),
        button("redo", "Redo (Ctrl+Shift+Z)", () => editor.commands.redo()),
      ),
      group(
        () => true,
        button("back", "Scroll left by one screen (Page up)", () => editor.navigation.page(-1)),
        button("ahead", "Scroll right by one screen (Page down)", () => editor.navigation.page(1)),
        button("closer", "Zoom in (+)", () => editor.navigation.zoom(1.5)),
        button("farther", "Zoom out (-)", () => editor.navigation.zoom(1 / 1.5)),
        button("whole", "Show the whole bag (Shift+Home, double click)", () => editor.navigation.seeAll()),
        button("view", "View: contrast, frequencies (Shift+arrows)", () => editor.viewPanel.toggle()),
        button("keys", "Keyboard shortcuts (?)", () => editor.toggleHelp()),
      ),
    ];
  }

  #button(name, title, act) {
    const node = element("button", { type: "button", title, "aria-label": title }, icon(ICONS[name]));
    this.disposables.listen(node, "click", act);
    this.#buttons.set(name, node);
    return node;
  }

  #speedMenu() {
    const options = SPEEDS.map((speed, i) => element("option", { value: String(i), title: speed.description }, speed.name));
    const menu = element("select", { title: "Playback speed", "aria-label": "Playback speed" }, ...options);
    this.disposables.listen(menu, "change", () => this.editor.player.setSpeed(SPEEDS[Number(menu.value)]));
    return menu;
  }

  update() {
    const { editor } = this;
    const { bag, player } = editor;
    const tool = editor.tools.current;
    for (const { shown, node } of this.groups) node.hidden = !shown();
    this.title.textContent = bag?.name ?? "";
    this.title.title = bag?.name ?? "";
    this.place.textContent = editor.queue.total > 1 ? `${editor.queue.index + 1} / ${editor.queue.total}${editor.queue.more ? "+" : ""}` : "";
    this.#press("loop", player.loop);
    this.#press("play", player.playing);
    this.#press("view", editor.viewPanel.open);
    for (const name of ["select", "box", "lasso", "redraw", "split"]) this.#press(name, tool === name);
    this.speed.value = String(SPEEDS.indexOf(player.speed));
    this.#buttons.get("play").replaceChildren(icon(ICONS[player.playing ? "stop" : "play"]));
    this.#enable(["redraw", "split"], editor.selection.ids.length === 1);
    this.#enable(["remove", "accept"], editor.selection.ids.length > 0);
    this.#enable(["band"], editor.selection.ids.length > 0 || player.playing);
    this.#enable(["merge"], editor.selection.ids.length > 1);
    this.#enable(["previous"], editor.queue.at(-1) !== null);
    this.#enable(["next"], editor.queue.at(1) !== null || editor.queue.more);
    for (const name of ["previous", "next"]) this.#buttons.get(name).hidden = editor.queue.total < 2;
    for (const name of ["back", "ahead"]) this.#buttons.get(name).hidden = !bag?.opening;
    this.#buttons.get("keys").hidden = editor.mode === "preview";
  }

  #press(name, on) {
    this.#buttons.get(name).setAttribute("aria-pressed", String(on));
  }

  #enable(names, on) {
    for (const name of names) this.#buttons.get(name).disabled = !on;
  }
}
