/** Painting on the canvas: the picture, what is hovered, selected or being drawn, and the place in the sound. */
import { labelColour } from "./colours.js";
import { shownLabel } from "./segment_labels.js";

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

/** The segment under the pointer, and those that are selected. */
export function paintMarks(ctx, view, hovered, selected, bag) {
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
    stroke(ctx, path, labelColour(shownLabel(segment, bag), bag.classes), 1.5);
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

export function clipToPlot(ctx, view) {
  const { x, y, width, height } = view.plot;
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
}

export function domMatrix(view) {
  const { a, d, e, f } = view.matrix;
  return new DOMMatrix([a, 0, 0, d, e, f]);
}

/** The outline in pixels; kept until the view moves, so that selecting and labelling project nothing again. */
export function pixelPath(shape, matrix) {
  const at = `${matrix.a},${matrix.d},${matrix.e},${matrix.f}`;
  if (shape.pixelsAt !== at) {
    shape.pixels = new Path2D();
    shape.pixels.addPath(shape.path, matrix.translate(shape.box.u0, 0));
    shape.pixelsAt = at;
  }
  return shape.pixels;
}

export function pixelBox(box, view) {
  const a = view.pixelAt(box.u0, box.v0);
  const b = view.pixelAt(box.u1, box.v1);
  return { left: a.x, right: b.x, top: Math.min(a.y, b.y), bottom: Math.max(a.y, b.y) };
}

export function stroke(ctx, path, colour, width, dash = []) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.lineJoin = "round";
  ctx.setLineDash(dash);
  ctx.stroke(path);
}
