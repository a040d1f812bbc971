/**
 * Runs a part of a page again when what it shows has changed on the server.
 *
 * The part draws this component with the state that it shows (`data.seen`) and the address that says what the state is
 * now. A part is asked to run only while no script runs and nobody has just used the page or clicked a link: so its
 * request never meets one of the person's, and what it draws never meets a page that is about to be replaced.
 */
import { isLeaving, isScriptRunning, lastUsed, watchPageChanges } from "./page_change.js";
import { runPage } from "./page_run.js";

export const timing = {
  every: 500, // milliseconds between two questions to the server
  look: 30,
  afterUse: 300,
  longestWait: 3000, // for a pause of somebody who uses the page all the time
  lost: 5000, // a part that has not run after this is asked again
  answer: 10000, // a server that takes longer, on a disk that does not respond, is asked again
};

const parts = new Map(); // element of the component -> Part
let isWatching = false;

watchPageChanges(); // every page of a project has a part that follows it

/** One part of the page: what it shows, and how to have it run. */
class Part {
  constructor(host) {
    this.host = host;
    this.runs = 0;
    this.checks = 0;
  }

  update({ data, setTriggerValue }) {
    Object.assign(this, data, { drawnAt: performance.now(), run: () => setTriggerValue("changed", true) });
    this.runs += 1;
    this.show();
  }

  isOutdated(now) {
    if (this.atLeastEvery && performance.now() - this.drawnAt > this.atLeastEvery * 1000) return true;
    return Object.entries(this.seen).some(([topic, state]) => topic in now && now[topic] !== state);
  }

  /** How often it was drawn, and found to be up to date: tests and people who look for a fault can read it. */
  show() {
    this.host.setAttribute("data-follow", `${this.runs} ${this.checks}`);
  }
}

export function show(component) {
  const { parentElement } = component;
  const host = parentElement.host ?? parentElement;
  if (!parts.has(host)) parts.set(host, new Part(host));
  parts.get(host).update(component);
  if (!isWatching) watch();
}

async function watch() {
  isWatching = true;
  while (parts.size > 0) {
    await pause(timing.every);
    forgetGone();
    const states = await currentStates();
    for (const part of parts.values()) {
      const now = states.get(part.address);
      if (now === undefined) continue;
      if (part.isOutdated(now)) await runAgain(part, now);
      else part.checks += 1;
      part.show();
    }
  }
  isWatching = false;
}

/**
 * Ask the server once per address; one that does not respond, or not as it should, is asked again later. One that was
 * restarted does not accept the token (401): only a run of the page brings another.
 */
async function currentStates() {
  const wanted = new Map([...parts.values()].map((part) => [part.address, part.token]));
  const states = new Map();
  for (const [address, token] of wanted) {
    try {
      const signal = AbortSignal.timeout(timing.answer);
      const response = await fetch(address, { headers: { "X-Bagtag-Token": token }, cache: "no-store", signal });
      if (response.status === 401) runPage();
      if (response.ok) states.set(address, await response.json());
    } catch {
      continue; // the server is not there: Streamlit says so
    }
  }
  return states;
}

/** Have a part run, and wait until it has; one that has run or gone meanwhile is left alone. */
async function runAgain(part, now) {
  const runs = part.runs;
  const since = performance.now();
  while (!isQuiet(since)) await pause(timing.look);
  if (part.runs !== runs || !part.host.isConnected || !part.isOutdated(now)) return;
  part.run();
  const asked = performance.now();
  while (part.runs === runs && part.host.isConnected && performance.now() - asked < timing.lost) await pause(timing.look);
}

function isQuiet(since) {
  const now = performance.now();
  const isUsed = now - lastUsed() < timing.afterUse && now - since < timing.longestWait;
  return !isUsed && !isLeaving() && !isScriptRunning();
}

function forgetGone() {
  for (const host of parts.keys()) if (!host.isConnected) parts.delete(host);
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
