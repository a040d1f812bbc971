/** What Streamlit calls for the wall: when it is mounted, and on every page run that changed its data or the theme. */
import { activeListeners } from "./disposables.js";
import { element } from "./dom.js";
import { Wall } from "./wall_view.js";

const walls = new WeakMap();

/** Streamlit fades what a running page has not drawn again yet; the wall is never out of date, so it stays bright. */
const unfaded = new CSSStyleSheet();
unfaded.replaceSync("[data-stale='true']:has([data-bagtag='wall']) { opacity: 1 !important; transition: none !important; }");
document.adoptedStyleSheets = [...document.adoptedStyleSheets, unfaded];

export function show(component, styles) {
  const { parentElement: home } = component;
  let wall = walls.get(home);
  const isNew = !wall || wall.disposables.over;
  if (isNew) {
    const root = element("div", { class: "bagtag wall" });
    home.querySelectorAll(".bagtag").forEach((old) => old.remove());
    if (home.adoptedStyleSheets) home.adoptedStyleSheets = [styles];
    home.append(root);
    if (home.host) home.host.dataset.bagtag = "wall";
    wall = new Wall(root);
    root.wall = wall;
    root.activeListeners = activeListeners;
    walls.set(home, wall);
  }
  wall.update(component);
  if (isNew) takeKeys(wall);
  return () => endWhenGone(home, wall);
}

/** Whoever comes by a link of the page works here by keys from now on. */
function takeKeys(wall) {
  const focused = document.activeElement;
  if (focused === null || focused === document.body || focused.matches("a[href]")) wall.grid.node.focus({ preventScroll: true });
}

/** Streamlit also calls the ending of an overtaken page run: only an element that has left the page ends its wall. */
function endWhenGone(home, wall) {
  setTimeout(() => {
    if (!wall.root.isConnected) {
      wall.end();
      walls.delete(home);
    }
  });
}
