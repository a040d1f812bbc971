import { Disposables } from "/assets/disposables.js";
import { Notice } from "/assets/notice.js";
import { WallCommands } from "/assets/wall_commands.js";
import { WallLayout } from "/assets/wall_layout.js";
import { WallList } from "/assets/wall_list.js";
import { afterEdit, screenEdit, WallMarks, wallKeys } from "/assets/wall_marks.js";
import { screenSentence } from "/assets/wall_text.js";
import { equal, test } from "/tests/check.js";

let projects = 0;
const newMarks = () => new WallMarks(`project ${++projects}`);
const item = (id, more = {}) => ({ id, label: null, accepted: false, checked_by: null, guesses: [[1, 0.9], [2, 0.1]], ...more });

test("a screen is one edit: the rest accepted as shown, marked ones labelled, unnamed ones left out", () => {
  const marks = newMarks();
  marks.mark([2, 3]);
  marks.give(-2, [3]);
  const items = [item(1), item(2), item(3), item(4, { label: 2, checked_by: "eye" }), item(5, { label: 2, checked_by: "threshold" }), item(6, { guesses: [] })];
  const act = screenEdit(items, marks);
  equal(act, { act: "label_many", accept: [[1, 1], [5, 2]], correct: [[3, -2]] });
  equal(items.map((one) => afterEdit(one, act)).map((one) => [one.label, one.accepted, one.checked_by]), [
    [1, true, "eye"], [null, false, null], [-2, false, "eye"], [2, false, "eye"], [2, true, "eye"], [null, false, null],
  ]);
  equal(screenEdit([item(2)], marks), null, "nothing to store");
});

test("a class goes to the marked ones without one, and then to the cursor", () => {
  const marks = newMarks();
  marks.mark([1, 2, 9]);
  equal(marks.assign(7, [1, 2, 3], 3), [1, 2], "9 is not on this screen");
  equal(marks.assign(8, [1, 2, 3], 3), [3]);
  equal(marks.assign(5, [1, 2, 3], null), []);
  equal(marks.of([1, 2, 3, 4]), [[1, 7], [2, 7], [3, 8]]);
  marks.toggle(1);
  marks.toggle(4);
  equal(marks.ids, [2, 9, 3, 4]);
});

test("marks survive a reload of the tab", () => {
  const name = `project ${++projects}`;
  const marks = new WallMarks(name);
  marks.mark([5, 6]);
  marks.give(2, [6]);
  equal(new WallMarks(name).of([5, 6]), [[5, null], [6, 2]]);
});

test("number keys go to the classes that this wall is taken for besides its own", () => {
  const classes = Array.from({ length: 12 }, (_, k) => ({ id: k + 1, name: `c${k + 1}`, shortcut: "", bags: 12 - k }));
  classes[3].shortcut = "2";
  const items = [item(1, { guesses: [[1, 0.6], [11, 0.4]] }), item(2, { guesses: [[1, 0.6], [10, 0.2], [11, 0.1]] })];
  const keys = new Map(wallKeys(classes, items, 1).map((one) => [one.id, one.keys]));
  equal([keys.get(11), keys.get(10), keys.get(4)], [["1"], ["3"], ["2", "6"]], "a class's own key is never another one's");
  equal(keys.get(1), [], "its own class needs none");
  equal([...keys.values()].flat().length, 9);
});

test("a screen has the rows that are seen whole, and the next one begins behind them", () => {
  const layout = new WallLayout(1100, 500, 10_000);
  equal(layout.columns, 10);
  equal(layout.perScreen * layout.columns >= 50, true);
  const [first, last] = layout.screen(0);
  equal([first, last], [0, layout.perScreen * 10]);
  equal(layout.screen(layout.scrollTo(last)), [last, last + layout.perScreen * 10]);
  equal(layout.screen(layout.step / 2), [10, 10 + (layout.perScreen - 1) * 10].map((n) => n), "half a row is no row");
  const inSight = layout.range(300_000, 1);
  equal(inSight[1] - inSight[0] <= (layout.perScreen + 4) * 10, true, "only what is in sight");
  equal(new WallLayout(1100, 500, 13).screen(0), [0, 13]);
  equal(new WallLayout(100, 20, 3).screen(0), [0, 1]);
});

test("a small window has smaller tiles, and nearly as many", () => {
  const layout = new WallLayout(737, 505, 10_000);
  equal([layout.columns, layout.columns * layout.perScreen, layout.tileWidth >= 84], [8, 56, true]);
  equal(new WallLayout(1217, 570, 10_000).columns, 11, "a large one has large tiles");
});

test("what is in sight is fetched first, in few requests, and what is gone is left out", async () => {
  const asked = [];
  const api = {
    wallItems: async (ids) => (asked.push(["items", ids.length]), { items: ids.filter((id) => id !== 3).map((id) => item(id)) }),
    cutouts: async (ids) => (asked.push(["cutouts", ids]), { pictures: new Map(ids.map((id) => [id, { close() {} }])), problems: new Map() }),
  };
  const list = new WallList(api);
  const ids = Array.from({ length: 30 }, (_, k) => k + 1);
  list.open(ids);
  const done = new Promise((resolve) => list.addEventListener("cutouts", () => list.cutouts.size >= 29 && resolve()));
  list.want(ids);
  await done;
  equal(asked[0], ["items", 30]);
  equal(asked.filter(([what]) => what === "items").length, 1);
  equal(asked.find(([what]) => what === "cutouts")[1].slice(0, 2), [1, 2]);
  equal([list.gone.has(3), list.isShown(4)], [true, true]);
});

test("the sentence says what Enter does", () => {
  const marks = newMarks();
  const open = () => true;
  equal(screenSentence([1, 2], marks, () => false), "Enter goes to the next screen.");
  equal(screenSentence([1, 2, 3], marks, open), "Enter accepts these 3. Click the wrong ones first.");
  equal(screenSentence([1, 2, 3], marks, open, (id) => id === 2), "Enter accepts these 3, 1 of them by a best guess only (“?”). Click the wrong ones first.");
  equal(screenSentence([1, 2], marks, open, open), "Enter accepts these 2, best guesses only (“?”). Click the wrong ones first.");
  marks.mark([1]);
  marks.give(4, [2]);
  equal(screenSentence([1, 2, 3], marks, open).startsWith("Enter accepts the other 1 and labels 1. 1 marked without a class"), true);
});

test("the sentence that asks to wait for pictures goes when they are there, and takes no other with it", () => {
  const shown = new Set([1]);
  const notice = new Notice(new Disposables());
  const wall = { notice, list: { isShown: (id) => shown.has(id), gone: new Set() }, grid: { screen: [1, 2, 3] } };
  const commands = new WallCommands(wall);
  commands.acceptScreen();
  equal(notice.node.textContent.startsWith("The pictures of this screen are still loading"), true);
  shown.add(2);
  commands.arrived();
  equal(notice.node.hidden, false);
  shown.add(3);
  commands.arrived();
  equal(notice.node.hidden, true);
  notice.show("Undone.");
  commands.arrived();
  equal(notice.node.hidden, false);
  notice.hide();
});
