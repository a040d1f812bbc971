/**
 * How segments look. A guess is drawn in dashes and as opaque as the model is sure; what a person confirmed has a full
 * line and a badge (a tick for accepted, a pen for corrected); background is a quiet grey dotted line; a guess that
 * contradicts the tags wears a warning triangle. So no difference hangs on colour alone.
 */
import { confidenceOf, labelOf, standingOf } from "./acts.js";
import { inkOn, labelColour } from "./colours.js";

const LINES = {
  predicted: { width: 1.5, dash: [5, 3] },
  contradicted: { width: 2, dash: [9, 3] },
  accepted: { width: 2.25, dash: [] },
  corrected: { width: 2.25, dash: [] },
  background: { width: 1.25, dash: [1.5, 3.5] },
  unlabelled: { width: 1.25, dash: [] },
};
const CROWD = 80;
const LABEL_FONT = 11;

export function paintImage(ctx, view, image) {
  const { u0, u1, v0, v1 } = view.whole;
  const a = view.pixelAt(u0, v0);
  const b = view.pixelAt(u1, v1);
  ctx.save();
  clipToPlot(ctx, view);
  ctx.imageSmoothingEnabled = true;
  ctx.imageSmoothingQuality = "medium";
  ctx.drawImage(image, a.x, a.y, b.x - a.x, b.y - a.y);
  ctx.restore();
}

export function paintSegments(ctx, view, bag, theme, quiet) {
  ctx.save();
  clipToPlot(ctx, view);
  const matrix = domMatrix(view);
  const seen = bag.segments.filter((segment) => onScreen(segment.shape.box, view));
  seen.sort((a, b) => b.shape.area - a.shape.area);
  const drawn = seen.map((segment) => lookOf(segment, bag.classes, quiet));
  for (const look of drawn) paintOutline(ctx, pixelPath(look.segment.shape, matrix), look);
  if (!quiet) {
    for (const look of drawn) paintBadge(ctx, view, look);
    paintLabels(ctx, view, drawn, bag.classes, theme);
  }
  ctx.restore();
}

/** The segment under the pointer, and those that are selected. */
export function paintMarks(ctx, view, hovered, selected, classes) {
  ctx.save();
  clipToPlot(ctx, view);
  const matrix = domMatrix(view);
  for (const segment of hovered) {
    const path = pixelPath(segment.shape, matrix);
    ctx.fillStyle = "rgba(255, 255, 255, 0.14)";
    ctx.fill(path, "evenodd");
    stroke(ctx, path, "rgba(255, 255, 255, 0.9)", 1.5);
  }
  for (const segment of selected) {
    const path = pixelPath(segment.shape, matrix);
    ctx.fillStyle = "rgba(255, 255, 255, 0.10)";
    ctx.fill(path, "evenodd");
    stroke(ctx, path, "rgba(0, 0, 0, 0.75)", 6);
    stroke(ctx, path, "#ffffff", 3.5);
    stroke(ctx, path, labelColour(labelOf(segment), classes), 1.5);
  }
  ctx.restore();
}

/** The line or outline a person is drawing, in pixels. */
export function paintDraft(ctx, view, points, closed) {
  if (points.length < 2) return;
  ctx.save();
  clipToPlot(ctx, view);
  const path = new Path2D();
  points.forEach(({ x, y }, i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
  if (closed) path.closePath();
  if (closed) {
    ctx.fillStyle = "rgba(255, 255, 255, 0.12)";
    ctx.fill(path);
  }
  stroke(ctx, path, "rgba(0, 0, 0, 0.7)", 4);
  stroke(ctx, path, "#ffffff", 1.75, closed ? [6, 3] : []);
  ctx.restore();
}

/** The place in a sound: a line while it plays, a small flag where it would start. */
export function paintPlayhead(ctx, view, seconds, playing) {
  const x = view.pixelAt(seconds - view.extent.left, 0).x;
  const { y, height, x: left, width } = view.plot;
  if (x < left - 1 || x > left + width + 1) return;
  ctx.save();
  if (playing) {
    ctx.fillStyle = "rgba(0, 0, 0, 0.55)";
    ctx.fillRect(x - 2, y, 4, height);
    ctx.fillStyle = "#ffffff";
    ctx.fillRect(x - 0.75, y, 1.5, height);
  }
  ctx.beginPath();
  ctx.moveTo(x - 5, y);
  ctx.lineTo(x + 5, y);
  ctx.lineTo(x, y + 7);
  ctx.closePath();
  ctx.fillStyle = "#ffffff";
  ctx.strokeStyle = "rgba(0, 0, 0, 0.7)";
  ctx.fill();
  ctx.stroke();
  ctx.restore();
}

function clipToPlot(ctx, view) {
  const { x, y, width, height } = view.plot;
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
}

function domMatrix(view) {
  const { a, d, e, f } = view.matrix;
  return new DOMMatrix([a, 0, 0, d, e, f]);
}

/** The outline in pixels; kept until the view moves, so that selecting and labelling project nothing anew. */
function pixelPath(shape, matrix) {
  const at = `${matrix.a},${matrix.d},${matrix.e},${matrix.f}`;
  if (shape.pixelsAt !== at) {
    shape.pixels = new Path2D();
    shape.pixels.addPath(shape.path, matrix);
    shape.pixelsAt = at;
  }
  return shape.pixels;
}

function pixelBox(box, view) {
  const a = view.pixelAt(box.u0, box.v0);
  const b = view.pixelAt(box.u1, box.v1);
  return { left: a.x, right: b.x, top: Math.min(a.y, b.y), bottom: Math.max(a.y, b.y) };
}

function onScreen(box, view) {
  const { left, right, top, bottom } = pixelBox(box, view);
  const { x, y, width, height } = view.plot;
  return right >= x && left <= x + width && bottom >= y && top <= y + height;
}

function lookOf(segment, classes, quiet) {
  const standing = quiet ? "unlabelled" : standingOf(segment);
  const label = quiet ? null : labelOf(segment);
  const sure = standing === "unlabelled" || standing === "background" ? 0 : confidenceOf(segment);
  return { segment, standing, label, sure, colour: labelColour(label, classes) };
}

function paintOutline(ctx, path, { standing, sure, colour }) {
  const line = LINES[standing];
  if (sure > 0) {
    ctx.globalAlpha = 0.06 + 0.3 * sure;
    ctx.fillStyle = colour;
    ctx.fill(path, "evenodd");
  }
  const firm = standing === "accepted" || standing === "corrected";
  ctx.globalAlpha = firm ? 0.75 : 0.5;
  stroke(ctx, path, "#000000", line.width + 1.75);
  ctx.globalAlpha = firm || standing === "contradicted" ? 1 : standing === "background" ? 0.7 : 0.55 + 0.45 * sure;
  if (standing === "unlabelled") ctx.globalAlpha = 0.85;
  stroke(ctx, path, colour, line.width, line.dash);
  ctx.globalAlpha = 1;
}

function stroke(ctx, path, colour, width, dash = []) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.lineJoin = "round";
  ctx.setLineDash(dash);
  ctx.stroke(path);
}

const BADGES = {
  accepted: [[-3, 0.2], [-0.9, 2.4], [3.2, -2.2]],
  corrected: [[-2.6, 2.6], [-1.9, 0.7], [1.7, -2.9], [2.9, -1.7], [-0.7, 1.9], [-2.6, 2.6]],
};

function paintBadge(ctx, view, { segment, standing, colour }) {
  if (standing !== "contradicted" && !(standing in BADGES)) return;
  const { left, right, top, bottom } = pixelBox(segment.shape.box, view);
  if (right - left < 7 && bottom - top < 7) return;
  const scale = right - left < 22 || bottom - top < 18 ? 0.72 : 1;
  ctx.save();
  ctx.translate(Math.max(right, left + 4), top);
  ctx.scale(scale, scale);
  ctx.setLineDash([]);
  ctx.lineJoin = ctx.lineCap = "round";
  if (standing === "contradicted") paintWarning(ctx);
  else paintSign(ctx, BADGES[standing], colour);
  ctx.restore();
}

function paintSign(ctx, points, colour) {
  ctx.beginPath();
  ctx.arc(0, 0, 6.5, 0, 2 * Math.PI);
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.strokeStyle = "rgba(0, 0, 0, 0.8)";
  ctx.lineWidth = 1;
  ctx.stroke();
  ctx.beginPath();
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.strokeStyle = inkOn(colour);
  ctx.lineWidth = 1.6;
  ctx.stroke();
}

function paintWarning(ctx) {
  ctx.beginPath();
  ctx.moveTo(0, -7.5);
  ctx.lineTo(7.5, 5.5);
  ctx.lineTo(-7.5, 5.5);
  ctx.closePath();
  ctx.fillStyle = "#ffd400";
  ctx.strokeStyle = "#10131a";
  ctx.lineWidth = 1.25;
  ctx.fill();
  ctx.stroke();
  ctx.fillStyle = "#10131a";
  ctx.fillRect(-0.9, -3.2, 1.8, 4.6);
  ctx.fillRect(-0.9, 2.3, 1.8, 1.8);
}

/** Names where there is room: the largest segments first, never over another name. */
function paintLabels(ctx, view, drawn, classes, theme) {
  const taken = [];
  const crowded = drawn.length > CROWD;
  ctx.font = `600 ${LABEL_FONT}px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const look of drawn) {
    const name = classes.get(look.label)?.name;
    if (!name || look.standing === "background") continue;
    const spot = roomFor(ctx, view, look, shorten(name), crowded, taken);
    if (!spot) continue;
    taken.push(spot);
    paintLabel(ctx, spot, look);
  }
}

function roomFor(ctx, view, look, text, crowded, taken) {
  const box = pixelBox(look.segment.shape.box, view);
  const width = Math.ceil(ctx.measureText(text).width) + 10;
  if (crowded && box.right - box.left < width) return null;
  const { plot } = view;
  const height = LABEL_FONT + 6;
  const left = Math.min(Math.max(box.left, plot.x + 1), plot.x + plot.width - width - 1);
  for (const top of [box.top - height - 2, box.bottom + 2]) {
    const spot = { left, right: left + width, top, bottom: top + height, text };
    const inside = top >= plot.y && spot.bottom <= plot.y + plot.height;
    if (inside && !taken.some((other) => overlaps(other, spot))) return spot;
  }
  return null;
}

function paintLabel(ctx, spot, { colour, standing, sure }) {
  const firm = standing === "accepted" || standing === "corrected";
  ctx.globalAlpha = firm ? 1 : 0.55 + 0.4 * sure;
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(spot.left, spot.top, spot.right - spot.left, spot.bottom - spot.top, 3);
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.fillStyle = inkOn(colour);
  ctx.fillText(spot.text, spot.left + 5, (spot.top + spot.bottom) / 2 + 0.5);
}

function overlaps(a, b) {
  return a.left < b.right + 2 && b.left < a.right + 2 && a.top < b.bottom + 1 && b.top < a.bottom + 1;
}

function shorten(name) {
  const letters = [...name];
  return letters.length > 24 ? `${letters.slice(0, 23).join("")}…` : name;
}
