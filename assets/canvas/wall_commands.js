/** What a person does on the wall: mark, label, accept the screen, undo. */
import { BACKGROUND } from "./segment_labels.js";
import { grouped } from "./text.js";
import { afterEdit, screenEdit } from "./wall_marks.js";

const STILL_LOADING = "The pictures of this screen are still loading; accept them when you have seen them.";

export class WallCommands {
  #done = []; // screens that were stored: the number of their edit, the items and marks before
  #undone = [];

  constructor(wall) {
    this.wall = wall;
  }

  /** Mark the tile under the pointer, or everything from the cursor to it. */
  clickAt(id, range) {
    const { list, marks, cursor } = this.wall;
    const from = list.ids.indexOf(cursor);
    if (range && from >= 0) {
      const to = list.ids.indexOf(id);
      marks.mark(list.ids.slice(Math.min(from, to), Math.max(from, to) + 1));
    } else marks.toggle(id);
    this.wall.setCursor(id, { quiet: true });
    this.wall.refresh();
  }

  /** Move the cursor by tiles (or rows); `marking` marks what it passes. */
  move(dx, dy, marking = false) {
    const { list, grid, cursor, marks } = this.wall;
    if (list.ids.length === 0) return;
    const [first] = grid.layout.screen(grid.node.scrollTop);
    const now = list.ids.indexOf(cursor);
    const next = now < 0 ? first : now + dx + dy * grid.layout.columns;
    if (next < 0 || next >= list.ids.length) return;
    if (marking) marks.mark([list.ids[Math.max(now, 0)], list.ids[next]]);
    this.wall.setCursor(list.ids[next]);
    grid.reveal(next);
    this.wall.refresh();
  }

  markCursor() {
    const { cursor, marks } = this.wall;
    if (cursor === null) return this.move(0, 0);
    marks.toggle(cursor);
    this.wall.refresh();
    this.wall.announce(this.wall.describe(cursor));
    return undefined;
  }

  /** Mark everything on the screen, or unmark it if all of it is marked. */
  markScreen() {
    const { grid, marks } = this.wall;
    const ids = grid.screen.filter((id) => this.wall.isOpen(id));
    if (ids.every((id) => marks.has(id))) marks.unmark(ids);
    else marks.mark(ids);
    this.wall.refresh();
  }

  unmarkScreen() {
    this.wall.marks.unmark(this.wall.grid.screen);
    this.wall.refresh();
  }

  label(label) {
    const { marks, grid, cursor } = this.wall;
    const given = marks.assign(label, grid.screen, cursor);
    if (given.length === 0) this.wall.notice.show("Mark a segment first: click it, or go to it by the arrow keys.");
    else this.wall.announce(`${given.length} marked as ${this.wall.nameOf(label)}`);
    this.wall.refresh();
  }

  labelBackground() {
    this.label(BACKGROUND);
  }

  /** A tile was dropped on a class: it gets it, with the marked ones that have none. */
  drop(id, label) {
    const { marks, grid } = this.wall;
    const open = grid.screen.filter((one) => marks.has(one) && marks.labelOf(one) === null);
    marks.give(label, [...new Set([id, ...(marks.has(id) ? open : [])])]);
    this.wall.setCursor(id, { quiet: true });
    this.wall.refresh();
  }

  find() {
    const { grid, marks, cursor } = this.wall;
    if (!grid.screen.some((id) => marks.has(id)) && cursor === null) {
      this.wall.notice.show("Mark a segment first: click it, or go to it by the arrow keys.");
      return;
    }
    this.wall.findClass();
  }

  /** Make a wall of the segments most like the one at the cursor. */
  showSimilar() {
    const { cursor, notice, bridge } = this.wall;
    if (cursor === null) notice.show("Choose a segment first: click it, or go to it by the arrow keys.");
    else bridge.showSimilar(cursor);
  }

  get #isWaiting() {
    const { list, grid } = this.wall;
    return grid.screen.some((id) => !list.isShown(id) && !list.gone.has(id));
  }

  /** Pictures arrived: once all of the screen are there, the message that asks to wait is hidden. */
  arrived() {
    if (!this.#isWaiting) this.wall.notice.retract(STILL_LOADING);
  }

  /** Store the screen as one edit, and go to the next one. */
  acceptScreen() {
    const { list, grid, marks, notice } = this.wall;
    const ids = grid.screen;
    if (this.#isWaiting) {
      notice.show(STILL_LOADING);
      return;
    }
    const seen = ids.filter((id) => list.items.has(id) && typeof list.cutouts.get(id) !== "string");
    const items = seen.map((id) => list.items.get(id));
    const act = screenEdit(items, marks);
    if (act) this.#store(act, items);
    const unnamed = ids.filter((id) => marks.has(id)).length;
    const last = grid.layout.screen(grid.node.scrollTop)[1];
    this.wall.announce(`${act?.accept.length ?? 0} accepted, ${act?.correct.length ?? 0} labelled, ${unnamed} still marked`);
    if (last < list.ids.length) {
      grid.scrollTo(last);
      this.wall.setCursor(null);
    } else this.wall.finished();
    this.wall.refresh();
  }

  #store(act, items) {
    const { outbox, marks, list, data } = this.wall;
    const ids = [...act.accept, ...act.correct].map(([id]) => id);
    const before = { items: items.filter((one) => ids.includes(one.id)), marks: marks.of(ids), act };
    const edit = outbox.add(act, null, data.annotator);
    this.#done.push({ ...before, number: edit.number });
    this.#undone = [];
    for (const item of before.items) list.change(item.id, afterEdit(item, act));
    marks.unmark(ids);
  }

  undo() {
    const { outbox, list, marks, data } = this.wall;
    const screen = this.#done.pop();
    if (!screen) {
      this.wall.notice.show("There is nothing to undo on this wall.");
      return;
    }
    outbox.add({ act: "undo", edit: screen.number }, null, data.annotator);
    this.#undone.push(screen);
    for (const item of screen.items) list.change(item.id, item);
    marks.restore(screen.marks);
    this.#show(screen, `Undone: ${sentence(screen.act)}.`);
  }

  redo() {
    const { outbox, list, marks, data } = this.wall;
    const screen = this.#undone.pop();
    if (!screen) {
      this.wall.notice.show("There is nothing to redo on this wall.");
      return;
    }
    const edit = outbox.add(screen.act, null, data.annotator);
    this.#done.push({ ...screen, number: edit.number });
    for (const item of screen.items) list.change(item.id, afterEdit(item, screen.act));
    marks.unmark(screen.items.map((item) => item.id));
    this.#show(screen, `Redone: ${sentence(screen.act)}.`);
  }

  #show(screen, text) {
    const { list, grid } = this.wall;
    const places = screen.items.map((item) => list.ids.indexOf(item.id)).filter((place) => place >= 0);
    if (places.length) grid.scrollTo(Math.min(...places));
    this.wall.setCursor(null);
    this.wall.notice.show(text);
    this.wall.refresh();
  }

  get mayUndo() {
    return this.#done.length > 0;
  }

  /** An edit was refused: what it changed on screen is not true. */
  refused(number, sentenceOfServer) {
    const screen = this.#done.find((one) => one.number === number);
    this.#done = this.#done.filter((one) => one !== screen);
    if (screen) {
      this.wall.marks.restore(screen.marks);
      this.wall.list.forget(screen.items.map((item) => item.id));
    }
    this.wall.notice.show(sentenceOfServer);
    this.wall.refresh();
  }
}

function sentence({ accept, correct }) {
  const parts = [accept.length ? `${grouped(accept.length)} accepted` : "", correct.length ? `${grouped(correct.length)} labelled` : ""];
  return parts.filter(Boolean).join(", ");
}
