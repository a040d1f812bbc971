/** The row of buttons above the canvas. */
import { element, icon } from "./dom.js";
import { ICONS } from "./icons.js";
import { SPEEDS } from "./player.js";

export class Toolbar {
  #buttons = new Map();

  constructor(lifetime, board) {
    this.board = board;
    this.lifetime = lifetime;
    this.title = element("span", { class: "title" });
    this.place = element("span", { class: "place" });
    this.speed = this.#speedMenu();
    this.groups = this.#makeGroups();
    this.node = element("div", { class: "toolbar", role: "toolbar", "aria-label": "Canvas" }, ...this.groups.map(({ node }) => node));
  }

  #makeGroups() {
    const { board } = this;
    const button = (...args) => this.#button(...args);
    const group = (shown, ...children) => ({ shown, node: element("div", { class: "group" }, ...children) });
    const editing = () => ["review", "segment"].includes(board.mode);
    return [
      group(() => true, button("previous", "Previous (P)", () => board.goBy(-1)), button("next", "Next (N)", () => board.goBy(1)), this.title, this.place),
      group(
        () => board.bag?.kind === "sound",
        button("play", "Play the segment, or from the mark (Space)", () => board.togglePlay()),
        button("band", "Play the segment's band only (Shift+Space)", () => board.togglePlay({ band: true })),
        button("loop", "Loop (L)", () => board.toggleLoop()),
        this.speed,
      ),
      group(
        editing,
        button("select", "Select and move", () => board.setTool("select")),
        button("box", "Draw a box (D)", () => board.toggleTool("box")),
        button("lasso", "Draw a lasso (D D)", () => board.toggleTool("lasso")),
        button("redraw", "Draw the outline anew (E)", () => board.toggleTool("redraw")),
        button("split", "Split along a line (S)", () => board.toggleTool("split")),
        button("merge", "Merge the selected (M)", () => board.hands.merge()),
        button("remove", "Delete (X)", () => board.hands.remove()),
      ),
      group(
        () => board.mode === "review",
        button("accept", "Accept, go to the next (Enter)", () => board.hands.accept()),
        button("acceptAll", "Accept the whole bag (Shift+Enter)", () => board.hands.acceptBag()),
      ),
      group(
        () => board.hands.mayEdit,
        button("undo", "Undo (Ctrl+Z)", () => board.hands.undo()),
        button("redo", "Redo (Ctrl+Shift+Z)", () => board.hands.redo()),
      ),
      group(
        () => true,
        button("back", "One view to the left (Page up)", () => board.navigation.page(-1)),
        button("ahead", "One view to the right (Page down)", () => board.navigation.page(1)),
        button("closer", "Zoom in (+)", () => board.navigation.zoom(1.5)),
        button("farther", "Zoom out (-)", () => board.navigation.zoom(1 / 1.5)),
        button("whole", "See all (Shift+Home, double click)", () => board.navigation.seeAll()),
        button("keys", "Keys (?)", () => board.toggleHelp()),
      ),
    ];
  }

  #button(name, says, act) {
    const node = element("button", { type: "button", title: says, "aria-label": says }, icon(ICONS[name]));
    this.lifetime.listen(node, "click", act);
    this.#buttons.set(name, node);
    return node;
  }

  #speedMenu() {
    const options = SPEEDS.map((speed, i) => element("option", { value: String(i), title: speed.says }, speed.name));
    const menu = element("select", { title: "Speed of the sound", "aria-label": "Speed of the sound" }, ...options);
    this.lifetime.listen(menu, "change", () => this.board.player.setSpeed(SPEEDS[Number(menu.value)]));
    return menu;
  }

  update() {
    const { board } = this;
    const { bag, player, tool } = board;
    for (const { shown, node } of this.groups) node.hidden = !shown();
    this.title.textContent = bag?.name ?? "";
    this.title.title = bag?.name ?? "";
    this.place.textContent = board.queue.total > 1 ? `${board.queue.position + 1} / ${board.queue.total}${board.queue.more ? "+" : ""}` : "";
    this.#press("loop", player.loop);
    this.#press("play", player.playing);
    for (const name of ["select", "box", "lasso", "redraw", "split"]) this.#press(name, tool === name);
    this.speed.value = String(SPEEDS.indexOf(player.speed));
    this.#buttons.get("play").replaceChildren(icon(ICONS[player.playing ? "stop" : "play"]));
    this.#enable(["redraw", "split"], board.selection.ids.length === 1);
    this.#enable(["remove", "accept"], board.selection.ids.length > 0);
    this.#enable(["band"], board.selection.ids.length > 0 || player.playing);
    this.#enable(["merge"], board.selection.ids.length > 1);
    this.#enable(["previous"], board.neighbour(-1) !== null);
    this.#enable(["next"], board.neighbour(1) !== null);
    for (const name of ["previous", "next"]) this.#buttons.get(name).hidden = board.queue.total < 2;
    for (const name of ["back", "ahead"]) this.#buttons.get(name).hidden = !bag?.opening;
    this.#buttons.get("keys").hidden = board.mode === "preview";
  }

  #press(name, on) {
    this.#buttons.get(name).setAttribute("aria-pressed", String(on));
  }

  #enable(names, on) {
    for (const name of names) this.#buttons.get(name).disabled = !on;
  }
}
