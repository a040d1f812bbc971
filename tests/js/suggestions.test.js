import { NumberKeys } from "/assets/number_keys.js";
import { Suggestions } from "/assets/suggestions.js";
import { equal, test } from "/tests/check.js";

const item = (name, probability, more = {}) => ({ class: null, name, scientific_name: `${name} latin`, probability, source: "BirdNET", ...more });
const someClasses = (n, more = {}) => Array.from({ length: n }, (_, k) => ({ id: k + 1, name: `class ${k + 1}`, scientific_name: "", shortcut: "", colour: "#123456", bags: 0, ...more[k + 1] }));

/** An editor in tag mode whose suggestions arrive when `answers[id]` is called. */
function editorFor({ suggests = "beside", recent = [], upcoming = [] } = {}) {
  const answers = {};
  const asked = [];
  const known = new Map();
  const ask = (id) => {
    asked.push(id);
    return new Promise((resolve) => {
      answers[id] = (found) => {
        known.set(id, found);
        resolve(found);
      };
    });
  };
  const editor = {
    mode: "tag",
    bag: null,
    data: { suggests },
    disposables: { over: false },
    queue: { upcoming: () => upcoming.map((id) => [id, null]) },
    api: { suggestions: ask, knownSuggestions: (id) => known.get(id) },
    numberKeys: new NumberKeys(),
    bagSync: { compose: () => editor.show(editor.raw) },
    commands: { recent: { order: (classes) => [...new Set([...recent, ...[...classes].map((c) => c.id)])] } },
  };
  editor.suggestions = new Suggestions(editor);
  editor.show = (raw) => {
    editor.raw = raw;
    editor.bag = { kind: "sound", tags: {}, suggestions: [], ...raw, classes: new Map(raw.classes.map((c) => [c.id, { ...c, keys: [] }])) };
    editor.suggestions.show(editor.bag);
  };
  return { editor, answers, asked };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));
const keysOf = ({ bag }) => Object.fromEntries([...bag.classes.values()].filter((c) => c.keys.length).map((c) => [c.id, c.keys.join()]));

async function shown(raw, items, options) {
  const one = editorFor(options);
  one.editor.show(raw);
  one.answers[raw.id]({ items, note: "" });
  await settled();
  return one;
}

test("suggestions have the first numbers, then recent classes, then the others", async () => {
  const { editor } = await shown({ id: 1, classes: someClasses(12), tags: { 7: 1 } }, [item("Great Tit", 0.9), item("class 3", 0.4, { class: 3 })], { recent: [11, 5] });
  equal(editor.suggestions.entries.map((one) => [one.name, one.digit, one.id]), [["Great Tit", "1", null], ["class 3", "2", 3]]);
  equal(keysOf(editor), { 1: "6", 2: "7", 3: "2", 4: "8", 5: "5", 6: "9", 7: "3", 11: "4" });
});

test("while suggestions are on their way no number has a meaning, but shortcuts do", () => {
  const { editor } = editorFor();
  editor.show({ id: 1, classes: someClasses(3, { 2: { shortcut: "w" } }) });
  equal(editor.suggestions.waiting, true);
  equal(keysOf(editor), { 2: "w" });
});

test("without suggestions few classes keep the numbers of their places, unless another class chose one", async () => {
  const raw = { id: 1, classes: someClasses(4, { 2: { shortcut: "1" } }) };
  const { editor } = await shown(raw, []);
  equal(keysOf(editor), { 1: "5", 2: "1,2", 3: "3", 4: "4" });
  const { editor: without } = editorFor({ suggests: "line" });
  without.show(raw);
  equal(keysOf(without), { 1: "5", 2: "1,2", 3: "3", 4: "4" });
});

test("a key keeps its meaning while the bag is on screen, whatever arrives", async () => {
  const raw = { id: 1, classes: someClasses(2) };
  const { editor, answers } = await shown(raw, [item("Great Tit", 0.9), item("Wren", 0.4)]);
  editor.suggestions.again();
  answers[1]({ items: [item("Owl", 0.95), item("Wren", 0.8)], note: "" });
  await settled();
  equal(editor.suggestions.entries.map((one) => [one.name, one.digit]), [["Owl", "5"], ["Wren", "2"]]);
  equal(keysOf(editor), { 1: "3", 2: "4" });
});

test("a species that was accepted is the class it became, under the same key", async () => {
  const { editor } = await shown({ id: 1, classes: someClasses(1) }, [item("Great Tit", 0.9)]);
  equal(editor.suggestions.forKey({ key: "1" }).name, "Great Tit");
  equal(editor.suggestions.forKey({ key: "1", ctrlKey: true }), null);
  const tit = { id: "@4", name: "Great Tit", scientific_name: "", shortcut: "", colour: "#999999", bags: 1 };
  editor.show({ id: 1, classes: [...someClasses(1), tit], tags: { "@4": 1 } });
  equal(editor.suggestions.entries.map((one) => [one.id, one.tag, one.digit]), [["@4", 1, "1"]]);
  equal(editor.suggestions.forKey({ key: "1" }), null);
  equal(keysOf(editor), { 1: "2", "@4": "1" });
  editor.show({ id: 1, classes: [...someClasses(1), { ...tit, id: 9, name: "Kohlmeise", scientific_name: "great tit LATIN" }], tags: {} });
  equal(editor.suggestions.entries.map((one) => [one.id, one.name, one.tag]), [[9, "Kohlmeise", undefined]]);
});

test("what is taken at once is one half or more and not decided", async () => {
  const items = [item("class 1", 0.9, { class: 1 }), item("class 2", 0.5, { class: 2 }), item("Owl", 0.7), item("Wren", 0.49), item("gone", 0.9, { class: 77 })];
  const { editor } = await shown({ id: 1, classes: someClasses(2), tags: { 1: -1 } }, items);
  equal(editor.suggestions.strong.map((one) => one.name), ["class 2", "Owl"]);
});

test("of bags that were passed over none is asked for; the next ones are fetched before", async () => {
  const { editor, answers, asked } = editorFor({ upcoming: [5, 6] });
  for (const id of [1, 2, 3, 4]) editor.show({ id, classes: [] });
  equal(asked, [1]);
  answers[1]({ items: [item("Owl", 0.9)], note: "" });
  await settled();
  equal(asked, [1, 4]);
  equal(editor.suggestions.entries.length, 0, "suggestions of another bag are not shown");
  answers[4]({ items: [], note: "nothing" });
  await settled();
  equal([editor.suggestions.note, asked], ["nothing", [1, 4, 5]]);
  answers[5]({ items: [item("Wren", 0.4)], note: "" });
  await settled();
  editor.show({ id: 5, classes: [] });
  equal(editor.suggestions.entries.map((one) => one.name), ["Wren"]);
});
