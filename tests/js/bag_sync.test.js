import { BagSync } from "/canvas/bag_sync.js";
import { Disposables } from "/canvas/disposables.js";
import { equal, test } from "/tests/check.js";

const extent = { left: 0, right: 600 };

/** A long bag whose requests wait in `asked` until the test responds to them; a null response is a failure. */
function longBag() {
  const asked = [];
  const respond = (query) => new Promise((resolve, reject) => {
    const send = (bag) => (bag === null ? reject(new Error("busy")) : resolve(bag));
    asked.push({ query, send });
  });
  const api = { knownBag: () => undefined, bag: (id, query) => respond(query) };
  const nothing = () => {};
  const on = { onBag: nothing, onProblem: nothing, onResult: nothing, onRevision: nothing, onNews: nothing };
  const outbox = Object.assign(new EventTarget(), { unsent: [] });
  return { asked, sync: new BagSync(new Disposables(), api, outbox, { ...on, selected: () => [] }) };
}

const part = (from, to) => ({ id: 1, revision: 1, extent, range: { from, to, detail: "outlines" }, segments: [], classes: [] });
const settle = () => new Promise((resolve) => setTimeout(resolve));

async function opened() {
  const { asked, sync } = longBag();
  const open = sync.open([1, null]);
  asked.shift().send(part(0, 50));
  await open;
  return { asked, sync };
}

test("what is in view is fetched although another request replaced the one for it", async () => {
  const { asked, sync } = await opened();
  sync.cover({ from: 100, to: 120 });
  sync.fetch({ quietly: true }); // as after an edit
  sync.cover({ from: 0, to: 600 });
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
  sync.cover({ from: 300, to: 320 });
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
