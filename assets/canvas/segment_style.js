/**
 * How segments look. A guess is drawn in dashes and as opaque as the model is certain; what a person confirmed has a full
 * line and a badge (a tick for accepted, a pen for corrected, ≥ for what a threshold accepted); background is a quiet grey
 * dotted line; a guess that contradicts the tags has a warning triangle; an uncertain guess has a thin line of
 * short dashes without a colour of its class. So no difference hangs on colour alone.
 */
import { inkOn, labelColour } from "./colours.js";
import { labelAnchor } from "./label_anchor.js";
import { pixelBox, stroke } from "./paint.js";
import { confidenceOf, shownLabel, statusOf } from "./segment_labels.js";

const LINES = {
  predicted: { width: 1.5, dash: [5, 3] },
  contradicted: { width: 2, dash: [9, 3] },
  threshold: { width: 1.75, dash: [] },
  accepted: { width: 2.25, dash: [] },
  corrected: { width: 2.25, dash: [] },
  background: { width: 1.25, dash: [1.5, 3.5] },
  unsure: { width: 1.25, dash: [3, 4] },
  unlabelled: { width: 1.25, dash: [] },
};

const COLOURLESS = ["unlabelled", "background", "unsure"];

/** How one segment is to be drawn. */
export function styleOf(segment, bag, quiet) {
  const status = quiet ? "unlabelled" : statusOf(segment, bag);
  const label = quiet ? null : shownLabel(segment, bag);
  const sure = COLOURLESS.includes(status) ? 0 : confidenceOf(segment);
  const warns = status === "contradicted" || (status === "unsure" && segment.contradicts);
  return { segment, status, label, sure, warns, colour: labelColour(label, bag.classes) };
}

export function paintOutline(ctx, path, { status, sure, colour }, crowded) {
  const line = LINES[status];
  if (sure > 0) {
    ctx.globalAlpha = 0.06 + 0.3 * sure;
    ctx.fillStyle = colour;
    ctx.fill(path, "evenodd");
  }
  const firm = status === "accepted" || status === "corrected";
  if (firm || !crowded) {
    ctx.globalAlpha = firm ? 0.75 : 0.5;
    stroke(ctx, path, "#000000", line.width + 1.75);
  }
  ctx.globalAlpha = firm || status === "contradicted" ? 1 : status === "background" ? 0.7 : 0.55 + 0.45 * sure;
  if (status === "unlabelled" || status === "unsure") ctx.globalAlpha = 0.85;
  stroke(ctx, path, colour, line.width, line.dash);
  ctx.globalAlpha = 1;
}

const BADGES = {
  threshold: [[-2.2, -2.6], [2.4, -0.4], [-2.2, 1.8], [-2.2, 3.2], [2.4, 3.2]],
  accepted: [[-3, 0.2], [-0.9, 2.4], [3.2, -2.2]],
  corrected: [[-2.6, 2.6], [-1.9, 0.7], [1.7, -2.9], [2.9, -1.7], [-0.7, 1.9], [-2.6, 2.6]],
};

/** The sign at the corner (in a picture, at the name) of what a person confirmed, or of what contradicts the tags. */
export function paintBadge(ctx, view, { segment, status, warns, colour }) {
  if (!warns && !(status in BADGES)) return;
  const { left, right, top, bottom } = pixelBox(segment.shape.box, view);
  if (right - left < 7 && bottom - top < 7) return;
  const scale = right - left < 22 || bottom - top < 18 ? 0.72 : 1;
  ctx.save();
  const { x, y } = view.kind === "picture" ? aboveItsName(segment, view) : { x: Math.max(right, left + 4), y: top };
  ctx.translate(x, y);
  ctx.scale(scale, scale);
  ctx.setLineDash([]);
  ctx.lineJoin = ctx.lineCap = "round";
  if (warns) paintWarning(ctx);
  else paintSign(ctx, BADGES[status], colour);
  ctx.restore();
}

function aboveItsName(segment, view) {
  const { u, v } = labelAnchor(segment.shape);
  const { x, y } = view.pixelAt(u, v);
  return { x, y: y - 16 };
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
