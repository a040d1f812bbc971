/** All that Streamlit itself carries of the wall: where to find the rest, which the browser fetches once. */
let ready = null;

async function load(root) {
  const text = (name) => fetch(new URL(name, root)).then((response) => response.text());
  const [{ show }, ...css] = await Promise.all([
    import(new URL("wall.js", root).href),
    text("canvas.css"),
    text("wall.css"),
  ]);
  const styles = new CSSStyleSheet();
  styles.replaceSync(css.join("\n"));
  return { show, styles };
}

export default async function (component) {
  const { base, assets } = component.data;
  ready ??= load(new URL(`${base}/bagtag/assets/${assets}/`, location.origin));
  try {
    const { show, styles } = await ready;
    return show(component, styles);
  } catch (problem) {
    ready = null;
    throw problem;
  }
}
