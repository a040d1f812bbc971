/**
 * What Streamlit calls: once when the component is mounted, and again on every page run that changed its data or
 * the theme. The board of an element lives until the element leaves the page.
 */
import { activeListeners } from "./disposables.js";
import { element } from "./dom.js";
import { Editor } from "./editor.js";

const editors = new WeakMap();

/** Streamlit fades what a running page has not drawn again yet; the canvas is never out of date, so it stays bright. */
const unfaded = new CSSStyleSheet();
unfaded.replaceSync("[data-stale='true']:has([data-bagtag='canvas']) { opacity: 1 !important; transition: none !important; }");
document.adoptedStyleSheets = [...document.adoptedStyleSheets, unfaded];

export function show(component, styles) {
  const { parentElement: home } = component;
  let editor = editors.get(home);
  const isNew = !editor || editor.disposables.over;
  if (isNew) {
    const root = element("div", { class: "bagtag" });
    home.querySelectorAll(".bagtag").forEach((old) => old.remove());
    if (home.adoptedStyleSheets) home.adoptedStyleSheets = [styles];
    home.append(root);
    if (home.host) home.host.dataset.bagtag = "canvas";
    editor = new Editor(root);
    root.editor = editor;
    root.activeListeners = activeListeners;
    editors.set(home, editor);
  }
  editor.update(component);
  if (isNew) takeKeys(editor);
  return () => endWhenGone(home, editor);
}

/** Whoever comes by a link of the page works here by keys from now on: Enter and Space are not for that link any more. */
function takeKeys(editor) {
  const focused = document.activeElement;
  const nobody = focused === null || focused === document.body || focused.matches("a[href]");
  if (nobody && editor.mode !== "preview") editor.layers.node.focus({ preventScroll: true });
}

/** Streamlit also calls the ending of an overtaken page run: only an element that has left the page ends its board. */
function endWhenGone(home, editor) {
  setTimeout(() => {
    if (!editor.root.isConnected) {
      editor.end();
      editors.delete(home);
    }
  });
}
