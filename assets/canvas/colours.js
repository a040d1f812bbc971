/** Colours: the page's theme, and one for every label. */
import { BACKGROUND } from "./segment_labels.js";

export const QUIET = "#9aa3ad"; // background
const NOBODY = "#f2f4f7";

/** The colours and font of the page around an element, read from Streamlit's variables. */
export function readTheme(node) {
  const style = getComputedStyle(node);
  const get = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  return {
    text: get("--st-text-color", "#1a1c24"),
    ground: get("--st-background-color", "#ffffff"),
    raised: get("--st-secondary-background-color", "#f4f5f7"),
    border: get("--st-border-color", "#d5d8de"),
    accent: get("--st-primary-color", "#0f766e"),
    font: get("--st-font", "sans-serif"),
  };
}

/** The colour of a label: its class's own, grey for background, near white where nothing is known. */
export function labelColour(label, classes) {
  if (label === null) return NOBODY;
  if (label === BACKGROUND) return QUIET;
  return classes.get(label)?.colour ?? QUIET;
}

const inks = new Map();

/** Black or white, whichever is easier to read on a colour (WCAG relative luminance). */
export function inkOn(colour) {
  if (!inks.has(colour)) inks.set(colour, luminance(colour) > 0.3 ? "#10131a" : "#ffffff");
  return inks.get(colour);
}

function luminance(colour) {
  const [r, g, b] = channels(colour).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function channels(colour) {
  const hex = /^#([0-9a-f]{6})/i.exec(colour)?.[1] ?? "808080";
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
}
