/** Key presses on the page of the wall; the table of them is in `keys.js`. */
import { classForKey, isMeantForOthers, rowFor } from "./keys.js";

const REPEATED = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "PageDown", "PageUp"]; // keys that may be held down

export class WallKeyboard {
  constructor(disposables, wall) {
    this.wall = wall;
    disposables.listen(document, "keydown", (event) => this.#press(event));
  }

  #press(event) {
    const { wall } = this;
    if (event.defaultPrevented || isMeantForOthers(event, wall.grid.node) || document.querySelector("[role=dialog]")) return;
    if (event.repeat && !REPEATED.includes(event.key)) return;
    const row = rowFor(event, "wall", wall.kind);
    const chosen = row ? null : classForKey(event, [...wall.classes.values()]);
    if (row?.run) row.run(wall);
    else if (chosen) wall.commands.label(chosen.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
