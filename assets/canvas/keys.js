/** The keys of the canvas, as a table: what is pressed, what it does, in which modes. r, c and Esc are Streamlit's. */

const EDITING = ["review", "segment"];
const ALL = ["review", "segment", "tag", "view"];

/** Rows: the keys as `event.key` gives them, how the list writes them, what they do, where they work. */
export const KEYS = [
  { group: "Segments", keys: ["ArrowRight", "ArrowDown"], shown: "→ ↓ Tab", description: "next segment", modes: ALL, run: (b) => b.selection.step(1) },
  { group: "Segments", keys: ["ArrowLeft", "ArrowUp"], shown: "← ↑ Shift+Tab", description: "previous segment", modes: ALL, run: (b) => b.selection.step(-1) },
  { group: "Labels", keys: [], shown: "1 – 9", description: "label with a class: the bag's tags and likely ones (or use its shortcut)", modes: EDITING },
  { group: "Labels", keys: [], shown: "Shift+1 – 6", description: "label with a guess of the selected segment: the first, the second …", modes: EDITING },
  { group: "Labels", keys: ["0"], shown: "0", description: "background: none of the classes", modes: EDITING, run: (b) => b.commands.labelBackground() },
  { group: "Labels", keys: ["/"], shown: "/", description: "find a class by typing", modes: EDITING, run: (b) => b.commands.find() },
  { group: "Labels", keys: ["Backspace"], shown: "Backspace", description: "remove the label", modes: EDITING, run: (b) => b.commands.label(null) },
  { group: "Labels", keys: ["Enter"], shown: "Enter", description: "accept (or keep the label) and go to the next item of the list", modes: ["review"], run: (b) => b.commands.accept() },
  { group: "Labels", keys: ["Enter"], ctrl: true, shown: "Ctrl+Enter", description: "accept and go to the next unchecked segment of this bag", modes: ["review"], run: (b) => b.commands.accept({ inBag: true }) },
  { group: "Labels", keys: ["Enter"], shown: "Enter", description: "accept and go to the next unchecked segment", modes: ["segment"], run: (b) => b.commands.accept({ inBag: true }) },
  { group: "Labels", keys: ["Enter"], shift: true, shown: "Shift+Enter", description: "accept all predictions of the bag above the threshold", modes: EDITING, run: (b) => b.commands.acceptBag() },
  { group: "Tags", keys: [], shown: "1 – 9", description: "add or remove a tag: suggestions first (or use the shortcut of a class)", modes: ["tag"] },
  { group: "Tags", keys: ["/"], shown: "/", description: "find a tag by typing, or create one", modes: ["tag"], run: (b) => b.commands.find() },
  { group: "Tags", keys: ["a"], shown: "A", description: "accept the suggested tags (50 % or more)", modes: ["tag"], run: (b) => b.commands.acceptSuggestions() },
  { group: "Tags", keys: ["0"], shown: "0", description: "nothing here, go to the next bag", modes: ["tag"], run: (b) => b.commands.nothingHere() },
  { group: "Tags", keys: ["Enter"], shown: "Enter", description: "finish, go to the next bag", modes: ["tag"], run: (b) => b.commands.finish("absent") },
  { group: "Tags", keys: ["u"], shown: "U", description: "finish, not sure about the rest", modes: ["tag"], run: (b) => b.commands.finish("unknown") },
  { group: "Sound", keys: [" "], shown: "Space", description: "play the segment (or from the playhead), or stop", modes: ALL, sound: true, run: (b) => b.playback.toggle() },
  { group: "Sound", keys: [" "], shift: true, shown: "Shift+Space", description: "play the segment's band only", modes: ALL, sound: true, run: (b) => b.playback.toggle({ band: true }) },
  { group: "Sound", keys: ["l"], shown: "L", description: "loop on or off", modes: ALL, sound: true, run: (b) => b.toggleLoop() },
  { group: "Shapes", keys: ["d"], shown: "D", description: "draw a box, a lasso, or stop drawing", modes: EDITING, run: (b) => b.tools.nextToDraw() },
  { group: "Shapes", keys: ["e"], shown: "E", description: "redraw the outline of the segment", modes: EDITING, run: (b) => b.tools.toggle("redraw") },
  { group: "Shapes", keys: ["m"], shown: "M", description: "merge (Shift+click selects several)", modes: EDITING, run: (b) => b.commands.merge() },
  { group: "Shapes", keys: ["s"], shown: "S", description: "split the segment along a drawn line", modes: EDITING, run: (b) => b.tools.toggle("split") },
  { group: "Shapes", keys: ["x", "Delete"], shown: "X", description: "delete", modes: EDITING, run: (b) => b.commands.remove() },
  { group: "Navigation", keys: ["f"], shown: "F", description: "more like this: similar segments on the wall", modes: [...EDITING, "wall"], run: (b) => b.commands.showSimilar() },
  { group: "Navigation", keys: ["n"], shown: "N", description: "next bag", modes: ALL, run: (b) => b.goBy(1) },
  { group: "Navigation", keys: ["p"], shown: "P", description: "previous bag", modes: ALL, run: (b) => b.goBy(-1) },
  { group: "Navigation", keys: ["+", "="], shown: "+", description: "zoom in (or turn the wheel)", modes: ALL, run: (b) => b.navigation.zoom(1.5) },
  { group: "Navigation", keys: ["-"], shown: "-", description: "zoom out", modes: ALL, run: (b) => b.navigation.zoom(1 / 1.5) },
  { group: "Navigation", keys: ["PageDown"], shown: "Page↓", description: "scroll right by one screen", modes: ALL, run: (b) => b.navigation.page(1) },
  { group: "Navigation", keys: ["PageUp"], shown: "Page↑", description: "scroll left by one screen", modes: ALL, run: (b) => b.navigation.page(-1) },
  { group: "Navigation", keys: ["Home"], shown: "Home", description: "beginning of the bag", modes: ALL, run: (b) => b.navigation.goToEnd(-1) },
  { group: "Navigation", keys: ["End"], shown: "End", description: "end of the bag", modes: ALL, run: (b) => b.navigation.goToEnd(1) },
  { group: "Navigation", keys: ["Home"], shift: true, shown: "Shift+Home", description: "show the whole bag (or double click)", modes: ALL, run: (b) => b.navigation.seeAll() },
  { group: "View", keys: ["ArrowUp"], shift: true, shown: "Shift+↑", description: "brighter", modes: ALL, run: (b) => b.contrast.change({ brightness: 1 }) },
  { group: "View", keys: ["ArrowDown"], shift: true, shown: "Shift+↓", description: "darker", modes: ALL, run: (b) => b.contrast.change({ brightness: -1 }) },
  { group: "View", keys: ["ArrowRight"], shift: true, shown: "Shift+→", description: "more contrast", modes: ALL, run: (b) => b.contrast.change({ contrast: 1 }) },
  { group: "View", keys: ["ArrowLeft"], shift: true, shown: "Shift+←", description: "less contrast", modes: ALL, run: (b) => b.contrast.change({ contrast: -1 }) },
  { group: "View", keys: ["Backspace"], shift: true, shown: "Shift+Backspace", description: "reset brightness and contrast", modes: ALL, run: (b) => b.contrast.reset() },
  { group: "History", keys: ["z"], ctrl: true, shown: "Ctrl+Z", description: "undo", modes: [...EDITING, "tag"], run: (b) => b.commands.undo() },
  { group: "History", keys: ["z"], ctrl: true, shift: true, shown: "Ctrl+Shift+Z", description: "redo", modes: [...EDITING, "tag"], run: (b) => b.commands.redo() },
  { group: "Wall", keys: ["Enter"], shown: "Enter", description: "accept the rest of the screen and go to the next", modes: ["wall"], run: (w) => w.commands.acceptScreen() },
  { group: "Wall", keys: ["ArrowRight"], shown: "← ↑ → ↓", description: "go to a segment (and hear it)", modes: ["wall"], run: (w) => w.commands.move(1, 0) },
  { group: "Wall", keys: ["ArrowLeft"], modes: ["wall"], run: (w) => w.commands.move(-1, 0) },
  { group: "Wall", keys: ["ArrowDown"], modes: ["wall"], run: (w) => w.commands.move(0, 1) },
  { group: "Wall", keys: ["ArrowUp"], modes: ["wall"], run: (w) => w.commands.move(0, -1) },
  { group: "Wall", keys: ["ArrowRight"], shift: true, shown: "Shift+→", description: "mark several segments", modes: ["wall"], run: (w) => w.commands.move(1, 0, true) },
  { group: "Wall", keys: ["ArrowLeft"], shift: true, modes: ["wall"], run: (w) => w.commands.move(-1, 0, true) },
  { group: "Wall", keys: ["ArrowDown"], shift: true, modes: ["wall"], run: (w) => w.commands.move(0, 1, true) },
  { group: "Wall", keys: ["ArrowUp"], shift: true, modes: ["wall"], run: (w) => w.commands.move(0, -1, true) },
  { group: "Marks", keys: [" ", "x"], shown: "Space X", description: "mark as wrong, or unmark (or click)", modes: ["wall"], run: (w) => w.commands.markCursor() },
  { group: "Marks", keys: ["a"], shown: "A", description: "mark or unmark the whole screen", modes: ["wall"], run: (w) => w.commands.markScreen() },
  { group: "Marks", keys: ["Backspace"], shown: "Backspace", description: "unmark the whole screen", modes: ["wall"], run: (w) => w.commands.unmarkScreen() },
  { group: "Marks", keys: [], shown: "1 – 9", description: "label the marked segments (or use the shortcut of a class, or drag a tile to it)", modes: ["wall"] },
  { group: "Marks", keys: ["0"], shown: "0", description: "label the marked segments as background", modes: ["wall"], run: (w) => w.commands.labelBackground() },
  { group: "Marks", keys: ["/"], shown: "/", description: "find a class by typing", modes: ["wall"], run: (w) => w.commands.find() },
  { group: "Wall", keys: ["p"], shown: "P", description: "play the segment again", modes: ["wall"], sound: true, run: (w) => w.cursor !== null && w.playback.play(w.cursor) },
  { group: "Wall", keys: ["s"], shown: "S", description: "play what is under the pointer: on or off", modes: ["wall"], sound: true, run: (w) => w.playback.toggle() },
  { group: "History", keys: ["z"], ctrl: true, shown: "Ctrl+Z", description: "undo the last screen", modes: ["wall"], run: (w) => w.commands.undo() },
  { group: "History", keys: ["z"], ctrl: true, shift: true, shown: "Ctrl+Shift+Z", description: "redo", modes: ["wall"], run: (w) => w.commands.redo() },
  { group: "History", keys: ["?"], shown: "?", description: "show keyboard shortcuts", modes: [...ALL, "wall"], run: (b) => b.toggleHelp() },
];

/** The rows that hold for a mode and a kind of media. */
export function keysFor(mode, kind) {
  return KEYS.filter((row) => row.modes.includes(mode) && (kind === "sound" || !row.sound));
}

const TYPING = "input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, select, [contenteditable=true], [role=combobox], [role=listbox], [role=slider], [role=grid], iframe";
const PRESSING = "button, a[href], summary, input, [role=button], [role=tab], [role=option], [role=radio], [role=checkbox]";
const WALKING = "input, [role=tab], [role=tablist], [role=option], [role=radio], [role=radiogroup], [role=menu]";

/** Is the key meant for a field or a button of the page rather than for the canvas? */
export function isMeantForOthers(event, layers) {
  const [target] = event.composedPath();
  if (!(target instanceof Element) || target === layers) return false;
  if (target.closest(TYPING)) return true;
  if (event.key.startsWith("Arrow")) return Boolean(target.closest(WALKING));
  return (event.key === " " || event.key === "Enter") && Boolean(target.closest(PRESSING));
}

/** The row a key press stands for, or null. */
export function rowFor(event, mode, kind) {
  if (event.altKey || event.isComposing) return null;
  const ctrl = event.ctrlKey || event.metaKey;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const fits = (row) => row.keys.includes(key) && Boolean(row.ctrl) === ctrl && shiftFits(row, event);
  return keysFor(mode, kind).find(fits) ?? null;
}

/** Shift only counts for keys that exist with and without it; "?" and "+" need it on many keyboards. */
function shiftFits(row, event) {
  const named = event.key.length > 1 || event.key === " " || row.ctrl;
  return named ? Boolean(row.shift) === event.shiftKey : true;
}

/** The class a key stands for, or null. */
export function classForKey(event, classes) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.key.length !== 1) return null;
  const key = event.key.toLowerCase();
  return classes.find((c) => c.keys.includes(key)) ?? null;
}

/**
 * The place of the guess that Shift and a number stand for, or null. The key is known by its place on the keyboard,
 * because Shift makes another sign of it; where Shift makes the number itself (French keyboards), it is a number.
 */
export function guessForKey(event) {
  if (!event.shiftKey || event.altKey || event.ctrlKey || event.metaKey || /^[0-9]$/.test(event.key)) return null;
  const [, digit] = /^Digit([1-9])$/.exec(event.code) ?? [];
  return digit ? Number(digit) - 1 : null;
}

/** How the key of a guess is written, by its place. */
export function guessKey(place) {
  return `⇧${place + 1}`;
}
