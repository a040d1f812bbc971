import { BagSync } from "/assets/bag_sync.js";
import { Disposables } from "/assets/disposables.js";
import { equal, test } from "/tests/check.js";

const extent = { left: 0, right: 600 };

/** A long bag whose requests wait in `asked` until the test responds to them; a null response is a failure. */
function longBag() {
  const asked = [];
  const respond = (query) => new Promise((resolve, reject) => {
    const send = (bag) => (bag === null ? reject(new Error("busy")) : resolve(bag));
    asked.push({ query, send });
  });
  const api = { knownBag: () => undefined, amendBag() {}, bag: (id, query) => respond(query) };
  const nothing = () => {};
  const on = { onBag: nothing, onProblem: nothing, onResult: nothing, onRevision: nothing, onNews: nothing };
  const outbox = Object.assign(new EventTarget(), { unsent: [] });
  const sync = new BagSync(new Disposables(), api, outbox, { ...on, selected: () => [] });
  const store = (act, result) => outbox.dispatchEvent(new CustomEvent("stored", { detail: { done: [{ edit: { bag: 1, act }, result }], revision: result.revision } }));
  return { asked, store, sync };
}

const part = (from, to) => ({ id: 1, revision: 1, extent, range: { from, to, detail: "outlines" }, segments: [], classes: [], tags: {} });
const settle = () => new Promise((resolve) => setTimeout(resolve));

async function opened() {
  const { asked, store, sync } = longBag();
  const open = sync.open([1, null]);
  asked.shift().send(part(0, 50));
  await open;
  return { asked, store, sync };
}

test("what is in view is fetched although another request replaced the one for it", async () => {
  const { asked, sync } = await opened();
  sync.loadRange({ from: 100, to: 120 });
  sync.fetch({ quietly: true }); // as after an edit
  sync.loadRange({ from: 0, to: 600 });
  const [first, second] = asked.splice(0);
  equal(second.query, { from: 85, to: 135 });
  first.send(part(85, 135));
  second.send(part(85, 135));
  await settle();
  equal(asked.map(({ query }) => query), [{ from: 0, to: 600 }]);
  asked.shift().send(part(0, 600));
  await settle();
  equal([asked.length, sync.bag.range.to], [0, 600]);
});

test("what could not be fetched is fetched again, without a movement of the view", async () => {
  const { asked, sync } = await opened();
  const later = window.setTimeout;
  const planned = [];
  window.setTimeout = (run) => planned.push(run);
  sync.loadRange({ from: 300, to: 320 });
  asked.shift().send(null);
  await new Promise((resolve) => later(resolve));
  equal([asked.length, planned.length], [0, 1]);
  const now = Date.now;
  Date.now = () => now() + 1000;
  planned[0]();
  Object.assign(Date, { now });
  window.setTimeout = later;
  equal(asked[0].query, { from: 285, to: 335 });
});

test("an edit that changed nothing does not hide that somebody else changed the bag", async () => {
  const { store, sync } = await opened();
  store({ act: "unfinish", bag: 1 }, { revision: 2, changed: false });
  equal(sync.revision, 1); // the next poll asks for the changes since 1
  store({ act: "unfinish", bag: 1 }, { revision: 2, changed: true });
  equal(sync.revision, 2);
});

test("a long bag is fetched after an edit that may change segments that are not loaded", async () => {
  const { asked, store } = await opened();
  store({ act: "unfinish", bag: 1 }, { revision: 2, changed: true });
  equal(asked.length, 0);
  store({ act: "finish", bag: 1, rest: "absent" }, { revision: 3, changed: true });
  equal(asked.length, 1);
});
