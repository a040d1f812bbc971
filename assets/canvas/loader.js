/**
 * All of a component that Streamlit itself sends, with every page run: where to find the rest (`data.entry`, its
 * module, and `data.styles`), which the browser fetches once from the app's own route.
 */
const loading = new Map();
const PAUSES = [300, 1000, 3000]; // milliseconds; Streamlit never shows a component again whose first showing failed

async function load(root, { entry, styles: names }) {
  const text = (name) => fetch(new URL(name, root)).then((response) => response.text());
  const [{ show }, ...css] = await Promise.all([import(new URL(entry, root).href), ...names.map(text)]);
  const styles = new CSSStyleSheet();
  styles.replaceSync(css.join("\n"));
  return { show, styles };
}

async function loadPatiently(...args) {
  for (const pause of PAUSES) {
    try {
      return await load(...args);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return load(...args);
}

/** The canvas is as high as this from the start, so that the page below it does not move. */
function reserveSpace({ parentElement: home, data }) {
  if (!data.height || home.querySelector(".bagtag")) return;
  const space = document.createElement("div");
  space.className = "bagtag";
  space.style.height = `${data.height + 90}px`;
  home.append(space);
}

export default async function (component) {
  const { base, assets, entry } = component.data;
  reserveSpace(component);
  if (!loading.has(entry)) loading.set(entry, loadPatiently(new URL(`${base}/bagtag/assets/${assets}/`, location.origin), component.data));
  try {
    const { show, styles } = await loading.get(entry);
    return show(component, styles);
  } catch (problem) {
    loading.delete(entry);
    throw problem;
  }
}
