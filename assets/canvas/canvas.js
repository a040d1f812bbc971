/**
 * The door Streamlit calls: once when the component is mounted, and again on every page run that changed its data or
 * the theme. The board of an element lives until the element leaves the page.
 */
import { Board } from "./board.js";
import { element } from "./dom.js";
import { livingListeners } from "./lifetime.js";

const boards = new WeakMap();

export function show(component, styles) {
  const { parentElement: home } = component;
  let board = boards.get(home);
  if (!board || board.lifetime.over) {
    const root = element("div", { class: "bagtag" });
    home.querySelectorAll(".bagtag").forEach((old) => old.remove());
    if (home.adoptedStyleSheets) home.adoptedStyleSheets = [styles];
    home.append(root);
    board = new Board(root);
    root.board = board;
    root.livingListeners = livingListeners;
    boards.set(home, board);
  }
  board.update(component);
  return () => endWhenGone(home, board);
}

/** Streamlit also calls the ending of an overtaken page run: only an element that has left the page ends its board. */
function endWhenGone(home, board) {
  setTimeout(() => {
    if (!board.root.isConnected) {
      board.end();
      boards.delete(home);
    }
  });
}
