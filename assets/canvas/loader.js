/**
 * All that Streamlit itself carries of the canvas, with every page run: where to find the rest, which the browser
 * fetches once from the app's own route.
 */
let ready = null;

async function load(root) {
  const [{ show }, css] = await Promise.all([
    import(new URL("canvas.js", root).href),
    fetch(new URL("canvas.css", root)).then((response) => response.text()),
  ]);
  const styles = new CSSStyleSheet();
  styles.replaceSync(css);
  return { show, styles };
}

function reserveSpace({ parentElement: home, data }) {
  if (home.querySelector(".bagtag")) return;
  const space = document.createElement("div");
  space.className = "bagtag";
  space.style.height = `${data.height + 90}px`;
  home.append(space);
}

export default async function (component) {
  const { base, assets } = component.data;
  reserveSpace(component);
  ready ??= load(new URL(`${base}/bagtag/assets/${assets}/`, location.origin));
  try {
    const { show, styles } = await ready;
    return show(component, styles);
  } catch (problem) {
    ready = null;
    throw problem;
  }
}
