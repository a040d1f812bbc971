/**
 * The way to another page. From the click on its link until it has arrived, Streamlit names the old page with all that
 * the browser sends (`sendRerunBackMsg` in App.tsx of 1.67), and the server runs the page that was named last: a button
 * whose message follows that of the link, or a text box that reports what was typed, would bring the old page back.
 *
 * So what was done before the click is sent before it, and on the page that is being left nothing can be done any more.
 * The server may also be about to switch pages by itself, or to run the old one again, and forget the link over it: it
 * is clicked once more then.
 * This can go when the browser names the page it is going to; `tests/browser/test_page_change.py` fails without it.
 */
export const timing = {
  reportedWithin: 250, // milliseconds: text boxes, sliders and tables report a change as late as this
  look: 30,
  readyWithin: 3000, // a link is followed after this at the latest
  clickedAgainAfter: 1000, // without a run of a script, while another page is shown
  givenUpAfter: 5000, // without a run of a script: the page never arrives, the server may be gone
};

let usedAt = -Infinity; // when the person last did something on the page
let left = null; // the way to another page: {from, to, link or null, isSent, isLast: it will not be sent again, quietSince}
let sending = null; // the timer of a link that waits for what was done before it
let isReady = () => true; // whether the server can take a link
let isPassing = false; // the click that goes on to Streamlit

/** Return whether the person has asked for another page, which is not there yet. */
export const isLeaving = () => left !== null;

/** Return whether the server was asked for another page, which is not there yet. */
export const isPageRequested = () => left !== null && left.isSent;

/** Have links wait until a condition holds. */
export function followLinksWhen(condition) {
  isReady = condition;
}

/** Return a component of Streamlit that reports nothing from the page that is being left. */
export function untilLeaving(component) {
  const report = (send) => (name, value) => (isLeaving() ? undefined : send(name, value));
  const { setStateValue, setTriggerValue } = component;
  return { ...component, setStateValue: report(setStateValue), setTriggerValue: report(setTriggerValue) };
}

/** Return whether Streamlit runs a script for this tab. */
export function isScriptRunning() {
  const app = document.querySelector("[data-testid=stApp]");
  return app !== null && app.dataset.testScriptState !== "notRunning";
}

/** Return when the person last did something on the page, in milliseconds as of `performance.now()`. */
export const lastUsed = () => usedAt;

/** Watch what is done on the page; the function that is returned ends it. */
export function watchPageChanges(target = window) {
  const listeners = [
    ["click", onClick],
    ["pointerdown", onUse],
    ["keydown", onUse],
    ["input", onUse],
    ["popstate", onHistory],
  ];
  for (const [name, listener] of listeners) target.addEventListener(name, listener, { capture: true });
  return () => {
    for (const [name, listener] of listeners) target.removeEventListener(name, listener, { capture: true });
    arrive();
  };
}

function onUse(event) {
  if (event.type === "keydown" && left !== null && !isInLinks(event)) return event.stopImmediatePropagation();
  if (!linkOf(event) || isEdited(document.activeElement)) usedAt = performance.now();
}

function onHistory() {
  if (location.pathname !== shownPage()) leave(location.pathname, null);
}

function onClick(event) {
  if (isPassing) return;
  const link = event.button || event.metaKey || event.ctrlKey || event.shiftKey ? null : linkOf(event);
  if (link === null) return onUse(event);
  event.preventDefault();
  event.stopImmediatePropagation();
  const wait = Math.max(0, usedAt + timing.reportedWithin - performance.now());
  if (isInPage(document.activeElement)) document.activeElement.blur(); // what was typed is reported
  leave(new URL(link.href).pathname, link);
  clearTimeout(sending);
  sending = setTimeout(followWhenReady, wait, link, performance.now());
}

function followWhenReady(link, clicked) {
  if (!isReady() && performance.now() - clicked < timing.readyWithin) {
    sending = setTimeout(followWhenReady, timing.look, link, clicked);
    return;
  }
  if (left !== null) left.isSent = true;
  follow(link);
}

/** Return the link to another page of the app that an event is on; null if it is on none. The logo is a link home. */
function linkOf(event) {
  const path = event.composedPath();
  const isLogo = path.some((node) => node.dataset?.testid === "stLogoLink");
  const link = isLogo ? home() : path.find((node) => node instanceof HTMLAnchorElement && node.href);
  if (!link || link.target === "_blank" || link.hasAttribute("download")) return null;
  const address = new URL(link.href);
  if (address.origin !== location.origin) return null;
  return address.pathname !== location.pathname || isLeaving() ? link : null; // back to the page that is being left
}

function follow(link) {
  const same = [...document.querySelectorAll("a[href]")].find((one) => one.href === link.href);
  isPassing = true;
  try {
    (link.isConnected ? link : same)?.click();
  } finally {
    isPassing = false;
  }
}

function leave(to, link) {
  const isFirst = left === null;
  left = { from: shownPage(), to, link, isSent: link === null, isLast: link === null, quietSince: performance.now() };
  page()?.setAttribute("inert", "");
  if (isFirst) look();
}

function look() {
  if (left === null) return;
  if (isScriptRunning()) left.quietSince = performance.now();
  const quiet = performance.now() - left.quietSince;
  const isElsewhere = left.isLast && shownPage() !== left.from;
  if (shownPage() === left.to || isElsewhere || quiet > timing.givenUpAfter) {
    arrive();
    return;
  }
  if (!left.isLast && left.isSent && quiet > timing.clickedAgainAfter) {
    left.isLast = true;
    follow(left.link);
  }
  setTimeout(look, timing.look);
}

function arrive() {
  left = null;
  page()?.removeAttribute("inert");
}

/** Return the link to the first page of the app, which is where the logo leads; there is none while links are hidden. */
const home = () => document.querySelector("[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]");

const page = () => document.querySelector("[data-testid=stMain]");

/** Return the path of the page that Streamlit shows; its own address changes before that. */
const shownPage = () => (document.querySelector("a[aria-current=page]") ?? location).pathname;

const isEdited = (node) => Boolean(node?.matches("input, textarea, [contenteditable]"));
const isInPage = (node) => Boolean(node && page()?.contains(node));
const isInLinks = (event) => event.composedPath().some((node) => node instanceof HTMLAnchorElement);
