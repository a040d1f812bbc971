import { Commands } from "/assets/commands.js";
import { Disposables } from "/assets/disposables.js";
import { element } from "/assets/dom.js";
import { Notice } from "/assets/notice.js";
import { Outbox } from "/assets/outbox.js";
import { OutboxPanel } from "/assets/outbox_panel.js";
import { equal, test } from "/tests/check.js";

let projects = 0;
const settle = () => new Promise((resolve) => setTimeout(resolve));
const labelled = { id: 1, label: 1, checked_by: "eye", guesses: [] };

/** A bag with one segment, which has no label here; `labelledBag` has one that a person gave. */
const bagOf = (id, segments = [{ id: 1, label: null, checked_by: null, guesses: [] }]) => ({ id, name: `clip ${id}`, segments, tags: {}, classes: new Map([[1, { id: 1, name: "Wren" }]]) });
const labelledBag = (id) => bagOf(id, [labelled]);

/** An editor in tag mode, whose server asks to confirm every edit; edits wait in `sent` until `respond` is called. */
function mount(bag, project = `questions ${++projects}`) {
  const sent = [];
  const disposables = new Disposables();
  const outbox = new Outbox(project);
  const api = {
    knownBag: (id) => bagOf(id),
    post: (edits) => new Promise((resolve) => sent.push({ edits, resolve })),
  };
  const notice = new Notice(disposables);
  const moves = [];
  const editor = {
    api, bag, disposables, notice, outbox,
    data: { project, annotator: "Ann" },
    item: [bag.id, null],
    mode: "tag",
    bagSync: { revision: 4, compose() {} },
    get isOpening() {
      return this.item[0] !== this.bag.id;
    },
    goBy: (step) => moves.push(step),
    announce() {},
  };
  const commands = new Commands(editor);
  const panel = new OutboxPanel(editor);
  const picture = element("div", { tabIndex: 0 }, notice.node);
  document.body.append(picture, panel.node);
  disposables.atEnd(() => [picture, panel.node].forEach((node) => node.remove()));
  disposables.listen(outbox, "stored", ({ detail }) => detail.done.filter(({ result }) => result.error).forEach((one) => commands.explain(one)));
  disposables.listen(outbox, "change", () => panel.update());
  notice.onChange = () => panel.update();
  outbox.sendThrough(api);
  const respond = async () => {
    const { edits, resolve } = sent.shift();
    const result = ({ number, act }) => (act.confirm ? { number, revision: 9, changed: true } : { number, error: "A segment is labelled Wren.", confirm: true });
    resolve({ results: edits.map(result), revision: 9 });
    await settle();
    return edits;
  };
  /** Another item of the queue is opened; its bag is not on screen yet. */
  const open = (id) => {
    editor.item = [id, null];
    notice.hide();
  };
  return { commands, editor, moves, notice, open, outbox, panel, respond, sent };
}

const click = (node, name) => [...node.querySelectorAll("button")].find((one) => one.textContent === name).click();
const confirmed = ({ bag, annotator, seen, act }) => [bag, annotator, seen, act];
const NOTHING = { act: "nothing_here", bag: 1, confirm: true };

for (const here of [false, true]) {
  test(`a question about another bag names it, waits under the canvas, and acts on its own bag${here ? "" : ", also while one is opened"}`, async () => {
    const { commands, editor, moves, notice, open, outbox, panel, respond, sent } = mount(bagOf(1));
    commands.nothingHere();
    equal(moves, [1], "nothing here predicts a question");
    open(2);
    if (here) editor.bag = bagOf(2);
    await respond();
    equal([notice.node.hidden, document.activeElement === document.body], [true, true], "Enter is for the bag on screen");
    equal(panel.node.textContent, "Not saved: mark as nothing here in clip 1. A segment is labelled Wren.YesNo");
    editor.data.annotator = "Bo";
    click(panel.node, "Yes");
    equal(outbox.unsent.map(confirmed), [[1, "Ann", 4, NOTHING]]);
    equal([outbox.questions.length, panel.node.hidden, moves], [0, true, [1]]);
    equal((await respond()).map(confirmed), [[1, "Ann", 4, NOTHING]]);
    equal([outbox.unsent.length, sent.length, outbox.questions.length], [0, 0, 0]);
    editor.disposables.end();
  });
}

test("a question over the picture goes under it when another bag is opened, or another sentence covers it", async () => {
  for (const leave of [({ open }) => open(2), ({ notice }) => notice.show("2 segments accepted.")]) {
    const mounted = mount(labelledBag(1));
    const { commands, editor, notice, outbox, panel, respond } = mounted;
    commands.nothingHere();
    await respond();
    equal([notice.node.textContent, panel.node.hidden], ["A segment is labelled Wren.YesNo", true]);
    leave(mounted);
    equal([panel.node.hidden, outbox.questions.length, notice.question], [false, 1, null]);
    click(panel.node, "No");
    equal([panel.node.hidden, outbox.questions.length, outbox.unsent.length], [true, 0, 0]);
    editor.disposables.end();
  }
});

test("where labels show that a question will come, the next bag is opened after the answer", async () => {
  for (const [name, steps] of [["Yes", [1]], ["No", []]]) {
    const { commands, editor, moves, notice, respond } = mount(labelledBag(1));
    commands.nothingHere();
    equal(moves, []);
    await respond();
    equal(document.activeElement.textContent, "Yes");
    click(notice.node, name);
    equal(moves, steps);
    editor.disposables.end();
  }
});

test("a question survives a reload, and its edit is sent once however often it is confirmed", async () => {
  const { commands, editor, open, outbox, respond } = mount(bagOf(1));
  commands.nothingHere();
  open(2);
  await respond();
  const [{ edit }] = outbox.questions;
  editor.disposables.end();
  const again = mount(bagOf(3), editor.data.project);
  equal(again.outbox.questions.map((one) => one.edit), [edit], "the same nonce and number");
  again.panel.update();
  click(again.panel.node, "Yes");
  again.outbox.answer({ edit }, true);
  equal(again.outbox.unsent, [edit]);
  again.editor.disposables.end();
});

test("a later decision about the same tags of the same bag replaces a question, other edits do not", async () => {
  const later = [
    [{ act: "finish", bag: 1 }, 1, 0], [{ act: "nothing_here", bag: 1 }, 1, 0], [{ act: "tag", bag: 1, class: 2, value: 1 }, 1, 0],
    [{ act: "correct", segments: [1], label: null }, 1, 1], [{ act: "finish", bag: 2 }, 2, 1],
  ];
  for (const [act, bag, left] of later) {
    const { commands, editor, notice, outbox, respond } = mount(labelledBag(1));
    commands.nothingHere();
    await respond();
    outbox.add(act, bag, "Ann", 4);
    equal([outbox.questions.length, notice.node.hidden], [left, left === 0], act.act);
    editor.disposables.end();
  }
  const { commands, editor, notice, outbox, panel, respond } = mount(labelledBag(1));
  for (const one of [1, 2]) commands.do({ act: "tag", bag: 1, class: one, value: 0 });
  await respond();
  await respond();
  equal(outbox.questions.map((one) => one.edit.act.class), [1, 2], "tags of two classes are two questions");
  equal([notice.question, panel.node.querySelectorAll("span").length], [outbox.questions[0], 1]);
  outbox.add({ act: "finish", bag: 1, rest: "absent" }, 1, "Ann", 4);
  outbox.add({ act: "tag", bag: 1, class: 2, value: 1 }, 1, "Ann", 4);
  equal(outbox.questions.map((one) => one.edit.act.class), [1]);
  editor.disposables.end();
});

test("a class that another page load made is not confirmed by its temporary name", async () => {
  const project = `questions ${++projects}`;
  const edit = { nonce: "earlier", number: 8, bag: 1, annotator: "Ann", seen: 4, act: { act: "tag", bag: 1, class: "@7", value: 0 } };
  sessionStorage.setItem(`bagtag.outbox.${project}`, JSON.stringify([edit]));
  const { editor, notice, outbox, respond } = mount(bagOf(1), project);
  await respond();
  equal([outbox.questions.length, notice.node.textContent], [0, "A segment is labelled Wren.OK"]);
  editor.disposables.end();
});

test("edits that were not stored are described in words", () => {
  const { editor, outbox, panel } = mount(bagOf(1));
  const aside = (act, bag) => ({ edits: [{ nonce: "n", number: 1, bag, annotator: "Ann", act }], sentence: "It broke." });
  outbox.aside = [aside({ act: "tag_by_name", bag: 1, name: "Great Tit" }, 1), aside({ act: "tag", bag: 1, class: 1, value: 0 }, 1)];
  panel.update();
  equal([...panel.node.querySelectorAll("span")].map((one) => one.textContent), ["Not saved: tag Great Tit in clip 1. It broke.", "Not saved: remove the tag Wren in clip 1. It broke."]);
  Object.assign(editor, { bag: null, classes: new Map([[1, { name: "Robin" }]]) }); // as on the wall
  panel.update();
  equal(panel.node.textContent.includes("remove the tag Robin"), true);
  editor.disposables.end();
});
