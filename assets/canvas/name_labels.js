/**
 * Names of segments where there is space: the largest segments first, never over another name. In a sound they stand
 * beside the call and cover nothing of it; in a picture, whose segments touch, in the middle of their segment.
 */
import { guessText } from "./card.js";
import { inkOn } from "./colours.js";
import { labelAnchor } from "./label_anchor.js";
import { pixelBox } from "./paint.js";
import { shorten } from "./text.js";

const FONT = 11;
const LONGEST = 24;
const LONGEST_OF_TWO = 15;
const UNSURE = "#e3e6ea"; // behind the guesses of a segment that the model is uncertain of

/** Where the names go: a list of boxes with the text and the look of their segment. */
export function placeLabels(ctx, view, styles, bag, theme, crowded) {
  const placed = [];
  ctx.font = `600 ${FONT}px ${theme.font}`;
  for (const style of styles) {
    const isUnsure = style.status === "unsure";
    const spot = isUnsure ? roomForGuesses(ctx, view, style, bag, styles, crowded, placed) : roomForName(ctx, view, style, bag, crowded, placed);
    if (spot) placed.push(spot);
  }
  return placed;
}

function roomForName(ctx, view, style, bag, crowded, placed) {
  const name = bag.classes.get(style.label)?.name;
  if (!name || style.status === "background") return null;
  return roomFor(ctx, view, style, shorten(name, LONGEST), crowded, placed);
}

/** The two best guesses where they cover no other segment, else a question mark alone. */
function roomForGuesses(ctx, view, style, bag, styles, crowded, placed) {
  const text = guessText(style.segment, bag, (name) => shorten(name, LONGEST_OF_TWO));
  const others = styles.filter((other) => other !== style).map((other) => pixelBox(other.segment.shape.box, view));
  const keptFree = view.kind === "picture" ? placed : [...placed, ...others];
  const spot = crowded ? null : roomFor(ctx, view, style, text, crowded, keptFree);
  return spot ?? roomFor(ctx, view, style, "?", crowded, placed);
}

export function paintLabel(ctx, spot, theme) {
  const { status, sure } = spot.style;
  const colour = status === "unsure" ? UNSURE : spot.style.colour;
  const firm = status === "accepted" || status === "corrected";
  ctx.font = `600 ${FONT}px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.globalAlpha = firm ? 1 : status === "unsure" ? 0.8 : 0.55 + 0.4 * sure;
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(spot.left, spot.top, spot.right - spot.left, spot.bottom - spot.top, 3);
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.fillStyle = inkOn(colour);
  ctx.fillText(spot.text, spot.left + 5, (spot.top + spot.bottom) / 2 + 0.5);
}

function roomFor(ctx, view, style, text, crowded, placed) {
  const box = pixelBox(style.segment.shape.box, view);
  const width = Math.ceil(ctx.measureText(text).width) + 10;
  if (crowded && box.right - box.left < width) return null;
  const { plot } = view;
  const height = FONT + 6;
  for (const { left: wanted, top } of view.kind === "picture" ? inTheMiddle() : besideIt()) {
    const left = Math.min(Math.max(wanted, plot.x + 1), plot.x + plot.width - width - 1);
    const spot = { left, right: left + width, top, bottom: top + height, text, style };
    const inside = top >= plot.y && spot.bottom <= plot.y + plot.height;
    if (inside && !placed.some((other) => touches(other, spot))) return spot;
  }
  return null;

  function besideIt() {
    return [box.top - height - 2, box.bottom + 2].map((top) => ({ left: box.left, top }));
  }

  function inTheMiddle() {
    if (box.bottom - box.top < height || box.right - box.left < width / 2) return [];
    const { u, v } = labelAnchor(style.segment.shape);
    const { x, y } = view.pixelAt(u, v);
    return [{ left: x - width / 2, top: y - height / 2 }];
  }
}

function touches(a, b) {
  return a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom + 1 && b.top < a.bottom + 1;
}
