import { show, timing } from "/assets/follow.js";
import { show as showPageRun } from "/assets/page_run.js";
import { equal, test, until } from "/tests/check.js";

Object.assign(timing, { every: 10, look: 5, afterUse: 0, lost: 60000 });
const states = {}; // address -> what the server sends; null: it does not respond
let asked = 0;
window.fetch = async (address, { headers }) => {
  asked += 1;
  if (headers["X-Bagtag-Token"] !== "key") throw new Error("no token");
  if (states[address] === null) throw new TypeError("Failed to fetch");
  if (states[address] === "restarted") return { ok: false, status: 401 };
  return { ok: states[address] !== undefined, json: async () => states[address] };
};
const app = document.createElement("div");
app.dataset.testid = "stApp";
app.dataset.testConnectionState = "CONNECTED";
document.body.append(app);

/** Wait until a part was found to be up to date so many times more. */
async function checked(one, times) {
  const checks = () => Number(one.parentElement.dataset.follow.split(" ")[1]);
  const before = checks();
  await until(() => checks() >= before + times);
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A part of a page; `draw(seen)` is what a run of it does, `runs` counts how often it was asked to run. */
function part(address, seen, more = {}) {
  app.dataset.testScriptState = "notRunning";
  const parentElement = document.createElement("div");
  document.body.append(parentElement);
  const one = { runs: 0, parentElement, onRun: () => one.draw(states[address]) };
  one.draw = (shown) => show({ parentElement, data: { address, token: "key", seen: shown, ...more }, setTriggerValue: run });
  const run = () => {
    one.runs += 1;
    setTimeout(() => one.onRun(), 5);
  };
  one.draw(seen);
  return one;
}

test("a part runs when what it shows has changed, and only then", async () => {
  states.a = { revision: "1", steps: "x" };
  const one = part("a", { revision: "1" });
  await checked(one, 3);
  states.a = { revision: "1", steps: "y" };
  await checked(one, 3);
  equal(one.runs, 0, "it does not show steps");
  states.a = { revision: "2", steps: "y" };
  await until(() => one.runs > 0);
  await checked(one, 3);
  equal(one.runs, 1);
  one.parentElement.remove();
});

test("parts run one after the other, each when no script runs", async () => {
  states.b = { revision: "1" };
  const parts = [part("b", { revision: "0" }), part("b", { revision: "0" })];
  const runs = () => parts.map((one) => one.runs);
  for (const one of parts) one.onRun = () => {};
  app.dataset.testScriptState = "running";
  await pause(60);
  equal(runs(), [0, 0]);
  app.dataset.testScriptState = "notRunning";
  await until(() => runs()[0] === 1);
  await pause(60);
  equal(runs(), [1, 0], "the second waits until the first has run");
  parts[0].draw(states.b);
  await until(() => runs()[1] === 1);
  parts[1].draw(states.b);
  for (const one of parts) one.parentElement.remove();
});

test("nothing runs in the moment in which a person uses the page, but not much later", async () => {
  Object.assign(timing, { afterUse: 60000, longestWait: 200 });
  states.c = { revision: "2" };
  const one = part("c", { revision: "1" });
  document.body.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  const used = performance.now();
  await until(() => one.runs === 1);
  const waited = performance.now() - used;
  equal(waited >= 199, true, `after ${waited} ms`);
  timing.afterUse = 0;
  one.parentElement.remove();
});

test("a part whose run was lost is asked again", async () => {
  timing.lost = 50;
  states.d = { revision: "2" };
  const one = part("d", { revision: "1" });
  one.onRun = () => {};
  await until(() => one.runs >= 2);
  timing.lost = 60000;
  one.parentElement.remove();
});

test("a server that does not respond, or knows nothing of it, is asked again without an error", async () => {
  states.e = null;
  const parts = [part("e", { revision: "1" }), part("unknown", { revision: "1" })];
  const before = asked;
  await until(() => asked > before + 6);
  equal(parts.map((one) => one.runs), [0, 0]);
  states.e = { revision: "2" };
  await until(() => parts[0].runs === 1);
  equal(parts[1].runs, 0);
  for (const one of parts) one.parentElement.remove();
});

test("a server that was restarted has the whole page run", async () => {
  const triggers = [];
  showPageRun({ setTriggerValue: (name) => triggers.push(name) });
  states.restarted = "restarted";
  const one = part("restarted", { revision: "1" });
  await until(() => triggers.length > 0);
  equal([triggers, one.runs], [["lost"], 0]);
  one.parentElement.remove();
});

test("a part that reads files outside the project runs now and then", async () => {
  states.f = { revision: "1" };
  const one = part("f", { revision: "1" }, { atLeastEvery: 0.05 });
  await until(() => one.runs >= 2);
  one.parentElement.remove();
});

test("without parts nobody asks", async () => {
  let before = -1;
  await until(() => before === asked || ((before = asked), false)); // the round that was on its way
  await pause(100);
  equal(asked, before);
});
