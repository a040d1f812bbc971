/**
 * The layer of segments. While the view stands still only what changed is painted again, so that a label shows at once
 * among hundreds of segments.
 */
import { placeLabels, paintLabel } from "./name_labels.js";
import { clipToPlot, domMatrix, pixelBox, pixelPath } from "./paint.js";
import { styleOf, paintBadge, paintOutline } from "./segment_style.js";

const CROWD = 80; // from here on, guesses have no dark rim, and names only where they fit
const RIM = 12; // pixels around a segment that its line and badge may cover

export class SegmentLayer {
  #last = null;

  paint(ctx, view, bag, theme, quiet, size) {
    const content = this.#compose(ctx, view, bag, theme, quiet, size);
    const area = this.#last?.key === content.key ? changedArea(this.#last.parts, content.parts) : EVERYTHING;
    this.#last = content;
    if (area === null) return;
    ctx.save();
    clipTo(ctx, area);
    ctx.clearRect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    clipToPlot(ctx, view);
    this.#draw(ctx, view, content, theme, area);
    ctx.restore();
  }

  #compose(ctx, view, bag, theme, quiet, size) {
    const seen = bag.segments.filter((segment) => onScreen(segment.shape.box, view));
    seen.sort((a, b) => b.shape.area - a.shape.area || a.shape.serial - b.shape.serial);
    const styles = seen.map((segment) => styleOf(segment, bag, quiet));
    const crowded = styles.length > CROWD;
    const labels = quiet ? [] : placeLabels(ctx, view, styles, bag, theme, crowded);
    const key = JSON.stringify([view.matrix, view.plot, size, theme.font, crowded, quiet]);
    return { key, styles, labels, crowded, quiet, parts: partsOf(styles, labels, view) };
  }

  #draw(ctx, view, { styles, labels, crowded, quiet }, theme, area) {
    const matrix = domMatrix(view);
    const here = styles.filter((style) => meet(inflated(pixelBox(style.segment.shape.box, view)), area));
    for (const style of here) paintOutline(ctx, pixelPath(style.segment.shape, matrix), style, crowded);
    if (quiet) return;
    for (const style of here) paintBadge(ctx, view, style);
    for (const spot of labels) if (meet(spot, area)) paintLabel(ctx, spot, theme);
  }
}

const EVERYTHING = { left: -1, top: -1, right: 1e5, bottom: 1e5 };

/** Everything on the layer by name, with what it looks like and the box it covers. */
function partsOf(styles, labels, view) {
  const parts = new Map();
  for (const style of styles) {
    const sign = `${style.segment.shape.serial} ${style.status} ${style.warns} ${style.colour} ${style.sure.toFixed(2)}`;
    parts.set(style.segment.shape.serial, { sign, box: inflated(pixelBox(style.segment.shape.box, view)) });
  }
  for (const spot of labels) {
    const { colour, status, sure } = spot.style;
    const sign = `${spot.left} ${spot.top} ${spot.text} ${colour} ${status} ${sure.toFixed(2)}`;
    parts.set(`label ${spot.style.segment.shape.serial}`, { sign, box: spot });
  }
  return parts;
}

/** The smallest box around all that differs; null when nothing does. */
function changedArea(before, after) {
  let area = null;
  for (const [name, part] of [...before, ...after]) {
    if (before.get(name)?.sign !== after.get(name)?.sign) area = united(area, part.box);
  }
  return area;
}

function united(area, { left, top, right, bottom }) {
  const box = { left: Math.floor(left) - 1, top: Math.floor(top) - 1, right: Math.ceil(right) + 1, bottom: Math.ceil(bottom) + 1 };
  if (area === null) return box;
  return {
    left: Math.min(area.left, box.left),
    top: Math.min(area.top, box.top),
    right: Math.max(area.right, box.right),
    bottom: Math.max(area.bottom, box.bottom),
  };
}

function inflated({ left, top, right, bottom }) {
  return { left: left - RIM, top: top - RIM, right: right + RIM, bottom: bottom + RIM };
}

function meet(a, b) {
  return a.left <= b.right && b.left <= a.right && a.top <= b.bottom && b.top <= a.bottom;
}

function clipTo(ctx, { left, top, right, bottom }) {
  ctx.beginPath();
  ctx.rect(left, top, right - left, bottom - top);
  ctx.clip();
}

function onScreen(box, view) {
  const { left, right, top, bottom } = pixelBox(box, view);
  const { x, y, width, height } = view.plot;
  return right >= x && left <= x + width && bottom >= y && top <= y + height;
}
