/** Elements made without HTML strings: names of classes and files only ever become text. */

export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("aria-") || name === "role" || name.startsWith("data-")) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

const LONG_NAME = 18; // letters
const SHORT_WORD = 6;

/** A class's name; where there is too little space for a long one, its last word stays: "Great Spott… call". */
export function nameOfClass(name, properties = {}) {
  const [, start, last] = /^(.*\S\s+)(\S+)$/su.exec(name) ?? [];
  if (!last || [...last].length > SHORT_WORD || [...name].length < LONG_NAME) return element("span", { class: "name", ...properties }, name);
  return element("span", { class: "name long", ...properties }, element("span", {}, start), element("span", {}, last));
}

const SVG = "http://www.w3.org/2000/svg";

/** A 16 x 16 line icon from its path data. */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** Replace a list's children only when what they show has changed. */
export function replaceWhenNew(parent, signature, make) {
  if (parent.dataset.shows === signature) return;
  parent.dataset.shows = signature;
  parent.replaceChildren(...make());
}
