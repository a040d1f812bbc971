import { NumberKeys } from "/assets/number_keys.js";
import { equal, test } from "/tests/check.js";

const someClasses = (n, shortcuts = {}) => Array.from({ length: n }, (_, k) => ({ id: k + 1, name: `class ${k + 1}`, shortcut: shortcuts[k + 1] ?? "", keys: [] }));
const bagOf = (classes, more = {}) => ({ id: 1, kind: "sound", tags: {}, segments: [], suggestions: [], ...more, classes: new Map(classes.map((c) => [c.id, { ...c }])) });
const segment = (...guesses) => ({ guesses });
const keysOf = (bag) => Object.fromEntries([...bag.classes.values()].filter((c) => c.keys.length).map((c) => [c.id, c.keys.join()]));

test("up to nine classes have the numbers of their places, unless another class chose one", () => {
  const bag = bagOf(someClasses(9, { 2: "1", 3: "w" }), { tags: { 8: 1 } });
  new NumberKeys().forLabels(bag, [segment([9, 0.9])]);
  equal(keysOf(bag), { 2: "1,2", 3: "w,3", 4: "4", 5: "5", 6: "6", 7: "7", 8: "8", 9: "9" });
});

test("of more classes the bag's tags have numbers, then what is likely in the segment", () => {
  const bag = bagOf(someClasses(80), { tags: { 70: 1, 12: 1, 3: -1 } });
  new NumberKeys().forLabels(bag, [segment([55, 0.4], [12, 0.3], [66, 0.2], [-2, 0.15], [7, 0.02])]);
  equal(keysOf(bag), { 12: "1", 70: "2", 55: "3", 66: "4" });
});

test("a number keeps its class while the bag is on screen: likely classes of other segments are appended", () => {
  const keys = new NumberKeys();
  const bag = bagOf(someClasses(80));
  keys.forLabels(bag, [segment([55, 0.09], [54, 0.08], [53, 0.07])]);
  equal(keysOf(bag), { 54: "2", 55: "1" });
  keys.forLabels(bag, [segment([20, 0.5], [55, 0.3])]);
  const changed = bagOf(someClasses(80), { tags: { 9: 1 } });
  keys.forLabels(changed, [segment([54, 0.9], [20, 0.1])]);
  equal(keysOf(changed), { 9: "4", 20: "3", 54: "2", 55: "1" });
  for (let k = 30; k < 40; k++) keys.forLabels(changed, [segment([k, 0.9])]);
  equal(keysOf(changed), { 9: "4", 20: "3", 30: "5", 31: "6", 32: "7", 33: "8", 34: "9", 54: "2", 55: "1" });
  const other = bagOf(someClasses(80), { id: 2, tags: { 77: 1 } });
  keys.forLabels(other);
  equal(keysOf(other), { 77: "1" });
});

test("a class's own key is never given to another, and it needs no number", () => {
  const bag = bagOf(someClasses(20, { 5: "1", 6: "w" }), { tags: { 5: 1, 6: 1, 7: 1 } });
  new NumberKeys().forLabels(bag, [segment([8, 0.6])]);
  equal(keysOf(bag), { 5: "1", 6: "w", 7: "2", 8: "3" });
});

test("of more than nine tags those come first that the model sees most of", () => {
  const tags = Object.fromEntries(Array.from({ length: 12 }, (_, k) => [k + 1, 1]));
  const bag = bagOf(someClasses(20), { tags, segments: [segment([12, 0.9]), segment([11, 0.5], [12, 0.4])] });
  new NumberKeys().forLabels(bag);
  equal(bag.classes.get(12).keys, ["1"]);
  equal(bag.classes.get(11).keys, ["2"]);
});

test("of an untagged bag six numbers go to what the model sees most of, and three are left for the segments", () => {
  const keys = new NumberKeys();
  const guessed = [...Array(8)].flatMap((_, k) => Array(8 - k).fill(segment([20 + k, 0.09], [-2, 0.05])));
  const bag = bagOf(someClasses(80), { segments: guessed });
  keys.forLabels(bag, []);
  equal(keysOf(bag), { 20: "1", 21: "2", 22: "3", 23: "4", 24: "5", 25: "6" });
  keys.forLabels(bag, [segment([27, 0.09], [20, 0.08])]);
  keys.forLabels(bag, [segment([40, 0.09], [41, 0.08])]);
  keys.forLabels(bag, [segment([50, 0.9])]);
  equal(keysOf(bag), { 20: "1", 21: "2", 22: "3", 23: "4", 24: "5", 25: "6", 27: "7", 40: "8", 41: "9" });
});

test("beside few tags a number goes to what the model surely sees in the bag", () => {
  const keys = new NumberKeys();
  const bag = bagOf(someClasses(80), { tags: { 70: 1 }, segments: [segment([20, 0.9], [30, 0.05]), segment([20, 0.8]), segment([40, 0.3])] });
  keys.forLabels(bag, []);
  equal(keysOf(bag), { 20: "2", 70: "1" });
  bag.tags[40] = 1;
  keys.forLabels(bag, []);
  equal(keysOf(bag), { 20: "2", 40: "3", 70: "1" });
});

test("a segment without a prediction takes the likely classes of its bag", () => {
  const bag = bagOf(someClasses(20), { suggestions: [[17, 0.3], [3, 0.05], [4, 0.04]] });
  new NumberKeys().forLabels(bag, [segment()]);
  equal(keysOf(bag), { 3: "2", 17: "1" });
});

test("tags of a picture with many classes: suggestions, then tags, then recent ones", () => {
  const bag = bagOf(someClasses(12), { kind: "picture", tags: { 4: 1 } });
  new NumberKeys().forTags(bag, { suggested: ["class 11"], recent: [6, 4, 11] });
  equal(keysOf(bag), { 4: "2", 6: "3", 11: "1" });
});
