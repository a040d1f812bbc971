import { Queue } from "/canvas/queue.js";
import { equal, test } from "/tests/check.js";

const items = [[1, 11], [1, 12], [2, 21], [3, null]];

test("an item on screen keeps its place when the list changes around it", () => {
  const queue = new Queue();
  queue.update({ items, index: 0 });
  queue.move(2);
  queue.update({ items: [[9, 91], ...items], index: 0 }, [2, 21]);
  equal(queue.at(0), [2, 21]);
  equal(queue.position, 3);
});

test("an item that left the list gives its place to the one the page names", () => {
  const queue = new Queue();
  queue.update({ items: items.slice(1), index: 1 }, [1, 11]);
  equal(queue.at(0), [2, 21]);
});

test("moving stops at both ends and changes nothing there", () => {
  const queue = new Queue();
  queue.update({ items });
  equal(queue.move(-1), null);
  equal(queue.index, 0);
  equal(queue.move(4), null);
  equal(queue.index, 0);
});

test("a window of a long list counts from its first item", () => {
  const queue = new Queue();
  queue.update({ items, first: 100, total: 500, index: 102 });
  equal([queue.at(0), queue.position], [[2, 21], 102]);
});

test("the next bag is fetched first, then the previous and the one after", () => {
  const queue = new Queue();
  queue.update({ items: [[1], [2], [3], [4]], index: 1 });
  equal(queue.soon(), [[3], [1], [4]]);
});
