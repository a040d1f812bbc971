/**
 * Mounting a component of the page, the editor or the wall. Streamlit calls `show` when the component is mounted, and
 * again on every page run that changed its data or the theme. The widget of an element lives until the element leaves the
 * page.
 */
import { activeListeners } from "./disposables.js";
import { element } from "./dom.js";
import { untilLeaving } from "./page_change.js";

/**
 * Return `show(component, styles)` for one kind of component: `make(root)` builds its widget, which has `root`,
 * `disposables`, `update(component)` and `end()`; `focusNode(widget)` is what takes the keys, or null.
 */
export function mountAs(kind, { className, make, focusNode }) {
  const widgets = new WeakMap();
  keepBright(kind);

  return function show(component, styles) {
    const { parentElement: home } = component;
    let widget = widgets.get(home);
    const isNew = !widget || widget.disposables.over;
    if (isNew) {
      const root = element("div", { class: className });
      home.querySelectorAll(".bagtag").forEach((old) => old.remove());
      if (home.adoptedStyleSheets) home.adoptedStyleSheets = [styles];
      home.append(root);
      if (home.host) home.host.dataset.bagtag = kind;
      widget = make(root);
      root.widget = widget;
      root.activeListeners = activeListeners;
      widgets.set(home, widget);
    }
    widget.update(untilLeaving(component));
    if (isNew) takeFocus(focusNode(widget));
    return () => endWhenGone(widget, () => widgets.delete(home));
  };
}

/** Streamlit fades what a running page has not drawn again yet; these components are never out of date, so they stay bright. */
function keepBright(kind) {
  const unfaded = new CSSStyleSheet();
  unfaded.replaceSync(`[data-stale='true']:has([data-bagtag='${kind}']) { opacity: 1 !important; transition: none !important; }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, unfaded];
}

/** After a click on a link of the page the keys are for the component: Enter and Space no longer follow that link. */
function takeFocus(node) {
  const focused = document.activeElement;
  const isFree = focused === null || focused === document.body || focused.matches("a[href]");
  if (isFree) node?.focus({ preventScroll: true });
}

/** Streamlit also calls the ending of an overtaken page run: only an element that has left the page ends its widget. */
function endWhenGone(widget, forget) {
  setTimeout(() => {
    if (widget.root.isConnected) return;
    widget.end();
    forget();
  });
}
