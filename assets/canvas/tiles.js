/**
 * The pieces a spectrogram comes in: which of them a view needs, and how they are laid on the plot.
 *
 * `tiling` describes how a bag is tiled: columns of level 0, columns per tile, and the level at which the whole
 * bag is one tile. Every level has half as many columns as the one below.
 */
import { clipToPlot } from "./paint.js";

/** The finest level that has no more than two columns per pixel. */
export function levelFor(tiling, share, pixels) {
  const columns = tiling.width * share;
  return Math.min(tiling.top, Math.max(0, Math.floor(Math.log2(columns / Math.max(1, pixels)))));
}

/** First and last tile of a level between two shares (0 to 1) of the bag. */
export function tilesBetween(tiling, level, from, to) {
  const perTile = tiling.columns * 2 ** level;
  const last = Math.ceil(tiling.width / perTile) - 1;
  const at = (share) => Math.min(last, Math.max(0, Math.floor((share * tiling.width) / perTile)));
  return { first: at(from), last: Math.max(at(from), at(to - 1e-9)), end: last };
}

/** The tiles to fetch for a view, the most urgent first: [level, tile] pairs. */
export function tilesFor(tiling, view, pixels, window = view.window) {
  const [from, to] = sharesOf(view, window);
  const level = levelFor(tiling, to - from, pixels);
  const { first, last, end } = tilesBetween(tiling, level, from, to);
  const wanted = [];
  for (let tile = first; tile <= last; tile++) wanted.push([level, tile]);
  return { level, first, last, wanted, beside: [first - 1, last + 1].filter((t) => t >= 0 && t <= end).map((t) => [level, t]) };
}

/** Lay tiles on the plot; where one is missing, coarser and finer tiles are drawn in its place. */
export function paintTiles(ctx, view, tiling, known, pixels, ratio) {
  const { level, first, last } = tilesFor(tiling, view, pixels);
  ctx.save();
  clipToPlot(ctx, view);
  clipToBag(ctx, view);
  ctx.imageSmoothingEnabled = true;
  ctx.imageSmoothingQuality = "medium";
  for (let tile = first; tile <= last; tile++) {
    const bitmap = known(level, tile);
    if (bitmap) paintTile(ctx, view, tiling, level, tile, bitmap, ratio);
    else paintStandIn(ctx, view, tiling, known, level, tile, ratio);
  }
  ctx.restore();
}

function paintStandIn(ctx, view, tiling, known, level, tile, ratio) {
  const { left, right } = edgesOf(view, tiling, level, tile, tiling.columns, ratio);
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, view.plot.y, right - left, view.plot.height);
  ctx.clip();
  for (let up = level + 1; up <= tiling.top; up++) {
    const bitmap = known(up, tile >> (up - level));
    if (!bitmap) continue;
    paintTile(ctx, view, tiling, up, tile >> (up - level), bitmap, ratio);
    break;
  }
  for (const child of level > 0 ? [2 * tile, 2 * tile + 1] : []) {
    const bitmap = known(level - 1, child);
    if (bitmap) paintTile(ctx, view, tiling, level - 1, child, bitmap, ratio);
  }
  ctx.restore();
}

/** Only the part of a tile that is on screen is scaled: a coarse tile may be thousands of plots wide. */
function paintTile(ctx, view, tiling, level, tile, bitmap, ratio) {
  const { left, right } = edgesOf(view, tiling, level, tile, bitmap.width, ratio);
  const { x, width } = view.plot;
  const scale = (right - left) / bitmap.width;
  const from = Math.max(0, Math.floor((x - left) / scale) - 1);
  const to = Math.min(bitmap.width, Math.ceil((x + width - left) / scale) + 1);
  if (to <= from) return;
  const top = view.pixelAt(0, view.whole.v0).y;
  const bottom = view.pixelAt(0, view.whole.v1).y;
  ctx.drawImage(bitmap, from, 0, to - from, bitmap.height, left + from * scale, top, (to - from) * scale, bottom - top);
}

/** Left and right of a tile on screen, on whole device pixels: neighbours touch without a gap or a blend. */
function edgesOf(view, tiling, level, tile, columns, ratio) {
  const perColumn = (view.whole.u1 / tiling.width) * 2 ** level;
  const begin = tile * tiling.columns * perColumn;
  const snap = (u) => Math.round(view.pixelAt(u, 0).x * ratio) / ratio;
  return { left: snap(begin), right: snap(begin + columns * perColumn) };
}

/** The last column of a level may reach beyond the end of the bag. */
function clipToBag(ctx, view) {
  const left = view.pixelAt(view.whole.u0, 0).x;
  const right = view.pixelAt(view.whole.u1, 0).x;
  ctx.beginPath();
  ctx.rect(left, view.plot.y, right - left, view.plot.height);
  ctx.clip();
}

function sharesOf(view, { u0, u1 }) {
  const span = view.whole.u1;
  return [Math.max(0, u0 / span), Math.min(1, u1 / span)];
}
