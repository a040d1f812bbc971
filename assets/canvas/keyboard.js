/** Which canvas of a page a key press goes to, and what it does there. */
import { classForKey, isMeantForOthers, rowFor } from "./keys.js";

const boards = []; // the canvases on the page, the one used last at the end
const MAY_PASS = ["PageDown", "PageUp", "Home", "End"]; // these scroll the page where they move nothing here
const LEAVING = 4000; // milliseconds after which a page that was to be left, but is still there, is used again

export class Keyboard {
  #left = 0;

  constructor(lifetime, board) {
    this.board = board;
    boards.push(board);
    lifetime.atEnd(() => boards.splice(boards.indexOf(board), 1));
    lifetime.listen(board.stage.node, "focus", () => this.#comeFirst());
    lifetime.listen(document, "keydown", (event) => this.#press(event));
    lifetime.listen(document, "click", (event) => this.#follow(event), { capture: true });
  }

  /** Whoever clicked a link to another page types for that page, which may take a moment to come. */
  #follow(event) {
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement && node.href);
    const target = link && new URL(link.href);
    if (target?.origin === location.origin && target.pathname !== location.pathname) this.#left = Date.now();
  }

  #comeFirst() {
    boards.splice(boards.indexOf(this.board), 1);
    boards.push(this.board);
  }

  #press(event) {
    if (event.defaultPrevented || !this.#isMine(event)) return;
    if (this.#handle(event)) {
      this.board.card.hide();
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #isMine(event) {
    const { board } = this;
    if (board.bag === null || board.mode === "preview" || Date.now() - this.#left < LEAVING) return false;
    const focused = boards.find((b) => b.stage.node.matches(":focus-within"));
    if (focused) return focused === board && !isMeantForOthers(event, board.stage.node);
    const latest = boards.filter((b) => b.mode !== "preview").at(-1);
    return latest === board && !isMeantForOthers(event, board.stage.node) && !document.querySelector("[role=dialog]");
  }

  #handle(event) {
    const { board } = this;
    if (event.key === "Tab") return this.#tab(event);
    const row = rowFor(event, board.mode, board.bag.kind);
    if (row?.run) {
      return row.run(board) !== false || !MAY_PASS.includes(event.key);
    }
    const chosen = classForKey(event, [...board.bag.classes.values()]);
    if (!chosen || !board.hands.mayEdit) return false;
    if (board.mode === "tag") board.hands.toggleTag(chosen.id);
    else board.hands.label(chosen.id);
    return true;
  }

  /** Tab goes through the segments of a focused canvas and then on through the page. */
  #tab(event) {
    const onStage = this.board.stage.node.matches(":focus");
    return onStage && !event.ctrlKey && this.board.selection.step(event.shiftKey ? -1 : 1, { wrap: false });
  }
}
