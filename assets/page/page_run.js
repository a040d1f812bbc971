/**
 * Runs the whole page when the server no longer knows it: after a restart, or after a long time without a connection.
 *
 * The server then has another token and none of the page's fragments, and drops all requests for these
 * (`AppSession.request_rerun` of Streamlit 1.67). The browser asks for a run by itself only if a script was running, or
 * if the last run was that of a fragment (`handleConnectionStateChanged` in App.tsx; what is left of
 * https://github.com/streamlit/streamlit/issues/11660). This can go when it always asks;
 * `tests/browser/test_restarted_server.py` fails without it.
 *
 * Links wait for that run: Streamlit names the project only in the address, and leaves it out when another page is asked
 * for, so that a server that does not know it yet would show its start page.
 */
import { followLinksWhen, isPageRequested } from "./page_change.js";

export const timing = {
  pause: 1500, // milliseconds between two requests
};

const CONNECTION = "data-test-connection-state";
let request = null; // has the page run
let requestedAt = -Infinity;
let watched = null; // the app, whose connection is watched
let isKnown = true; // the server has run the page since the connection was lost

followLinksWhen(() => isKnown);

export function show({ setTriggerValue }) {
  request = () => setTriggerValue("lost", true);
  isKnown = true;
  watchConnection();
}

/** Have the whole page run, unless that has just been requested; without a connection, it runs when there is one again. */
export function runPage() {
  if (watched?.getAttribute(CONNECTION) !== "CONNECTED") {
    isKnown = false;
    return;
  }
  if (isPageRequested() || performance.now() - requestedAt < timing.pause) return;
  isKnown = false;
  requestedAt = performance.now();
  request();
}

function watchConnection() {
  const app = document.querySelector("[data-testid=stApp]");
  if (app === null || app === watched) return;
  watched = app;
  const observer = new MutationObserver(runPage); // the connection was lost, or is there again
  observer.observe(app, { attributeFilter: [CONNECTION] });
}
