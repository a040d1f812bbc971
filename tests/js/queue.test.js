import { Queue } from "/assets/queue.js";
import { QueueNavigation } from "/assets/queue_navigation.js";
import { equal, test } from "/tests/check.js";

let lists = 0;

/** A queue of a list that changes as `batches` says: one response per request; `asked` collects the queries. */
function queueOf(batches, name = `queue ${++lists}`) {
  const asked = [];
  const fetchBatch = async (query) => {
    asked.push(query);
    return structuredClone(batches[Math.min(asked.length, batches.length) - 1]);
  };
  return { queue: new Queue(fetchBatch, name), asked, name };
}

const items = [[1, 11], [1, 12], [2, 21], [3, null]];
const whole = { items, after: null };

test("moving stops at both ends and changes nothing there", async () => {
  const { queue } = queueOf([whole]);
  await queue.open({ order: "newest" });
  equal(queue.move(-1), null);
  equal(queue.index, 0);
  equal(queue.move(4), null);
  equal(queue.index, 0);
  equal([queue.left, queue.more], [3, false]);
});

test("list and position survive a reload, and another query makes a new list", async () => {
  const { queue, name } = queueOf([whole]);
  await queue.open({ order: "newest" });
  queue.move(2);
  const again = queueOf([{ items: [[9, 91]], after: null }], name);
  await again.queue.open({ order: "newest" });
  equal([again.queue.current, again.asked], [[2, 21], []]);
  await again.queue.open({ order: "random" });
  equal([again.queue.current, again.queue.total], [[9, 91], 1]);
});

test("an empty list is made again", async () => {
  const { queue, asked } = queueOf([{ items: [], after: null }, whole]);
  await queue.open({ show: "unfinished" });
  equal(queue.current, null);
  await queue.open({ show: "unfinished" });
  equal([queue.current, asked.length], [[1, 11], 2]);
});

test("a new list starts at its first item", async () => {
  const { queue, asked } = queueOf([whole, { items: items.slice(1), after: null }]);
  await queue.open({ order: "newest" });
  queue.move(2);
  await queue.renew();
  equal([queue.current, queue.total], [[1, 12], 3]);
  equal(asked, [{ order: "newest" }, { order: "newest" }]);
});

test("more is fetched before the list ends, without what it already has, and once more from the start", async () => {
  const batch = (first, n) => Array.from({ length: n }, (_, k) => [1, first + k]);
  const { queue, asked } = queueOf([
    { items: batch(1, 20), after: "0.1,20" },
    { items: batch(20, 5), after: null },
    { items: [[7, 70], ...batch(1, 3)], after: null },
  ]);
  await queue.open({ order: "least_sure" });
  equal(queue.more, true);
  queue.move(5);
  await queue.fetchMore();
  equal([queue.total, queue.more], [24, true]);
  await queue.fetchMore();
  equal([queue.items.at(-1), queue.total, queue.more], [[7, 70], 25, false]);
  equal(asked.map((query) => query.after ?? null), [null, "0.1,20", null]);
});

test("a bag (and segment) that the page asks for is found in the list, or inserted at the current place", async () => {
  const { queue } = queueOf([whole]);
  await queue.open({ show: "all" });
  queue.goToBag(2);
  equal([queue.current, queue.total], [[2, 21], 4]);
  queue.goToBag(8);
  equal([queue.current, queue.at(1), queue.total], [[8, null], [2, 21], 5]);
  queue.goToBag(2, 22);
  equal([queue.current, queue.total], [[2, 22], 6]);
  queue.goToBag(2, 21);
  equal([queue.current, queue.total], [[2, 21], 6]);
});

test("items of a bag that is gone leave the list", async () => {
  const { queue } = queueOf([whole]);
  await queue.open({ show: "all" });
  queue.move(1);
  queue.drop();
  equal([queue.items, queue.current], [[[2, 21], [3, null]], [2, 21]]);
});

test("the next bag is fetched first, then the previous and the one after", async () => {
  const { queue } = queueOf([{ items: [[1], [2], [3], [4]], after: null }]);
  await queue.open({ show: "all" });
  queue.move(1);
  equal(queue.upcoming(), [[3], [1], [4]]);
});

/** Going on in a queue: `labels` has the label of each segment of the bags that were fetched. */
async function goingOn(batches, labels) {
  const { queue } = queueOf(batches);
  await queue.open({ order: "least_sure" });
  const opened = [];
  const said = [];
  const bagOf = (id) => id in labels ? { id, range: null, segments: Object.entries(labels[id]).map(([segment, label]) => ({ id: Number(segment), label })) } : undefined;
  const editor = {
    data: { project: "one" },
    queue,
    disposables: { over: false },
    display: { open: (item) => opened.push(item), showProblem: (problem) => said.push(problem.message) },
    notice: { show: (sentence) => said.push(sentence) },
    api: { knownBag: bagOf },
    get bag() {
      return bagOf(1);
    },
  };
  return { queue, navigation: new QueueNavigation(editor), opened, said };
}

test("going on opens the next item that nobody has checked, in the order of the list", async () => {
  const labels = { 1: { 11: 5, 12: null, 13: null } };
  const { navigation, opened, queue } = await goingOn([{ items: [[1, 11], [2, 21], [1, 12]], after: null }], labels);
  await navigation.goToUnchecked();
  equal([opened, queue.index], [[[2, 21]], 1], "not the neighbour 12 or 13 of the same bag");
  await navigation.goToUnchecked();
  equal(opened.length, 2, "an item that is still open is opened again, not passed over");
  equal(opened[1], [2, 21]);
});

test("what was checked or deleted meanwhile is passed over, and more of the list is fetched", async () => {
  const labels = { 1: { 11: 5, 12: -2 }, 2: { 21: 7 } };
  const batches = [{ items: [[1, 11], [1, 12], [1, 99], [2, 21]], after: "0.5,21" }, { items: [[3, 31]], after: null }];
  const { navigation, opened, said } = await goingOn(batches, labels);
  await Promise.all([navigation.goToUnchecked(), navigation.goToUnchecked()]);
  equal([opened, said], [[[3, 31]], []], "a second press while the list is fetched moves no further");
});

test("at the end of the list this is said", async () => {
  const { navigation, opened, said } = await goingOn([{ items: [[1, 11]], after: null }], { 1: { 11: 5 } });
  await navigation.goToUnchecked();
  equal(opened, []);
  equal(said.length, 1);
});
