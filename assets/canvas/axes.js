/** Axes with real units: seconds and kilohertz, or pixels. */

const TICK_EVERY = { x: 90, y: 42 };

export function marginsFor(kind) {
  return kind === "sound" ? { left: 50, right: 10, top: 8, bottom: 34 } : { left: 46, right: 10, top: 8, bottom: 34 };
}

export function paintAxes(ctx, view, theme) {
  const { x, y, width, height } = view.plot;
  const sound = view.kind === "sound";
  ctx.save();
  ctx.font = `11px ${theme.font}`;
  ctx.fillStyle = theme.text;
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = 1;
  ctx.globalAlpha = 0.72;
  paintX(ctx, view, sound);
  paintY(ctx, view, sound);
  ctx.globalAlpha = 0.25;
  ctx.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
  ctx.restore();
}

function paintX(ctx, view, sound) {
  const { x, y, width, height } = view.plot;
  const from = Math.max(view.realAt(x, y).x, view.extent.left);
  const to = Math.min(view.realAt(x + width, y).x, view.extent.right);
  const share = (to - from) / (view.realAt(x + width, y).x - view.realAt(x, y).x);
  const ticks = (sound ? timeTicks : niceTicks)(from, to, (share * width) / TICK_EVERY.x);
  const write = sound ? timeWriter(ticks.step, to) : (value) => String(Math.round(value));
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const value of ticks.values) {
    const px = view.pixelAt(view.toPlane(value, 1).u, 0).x;
    if (px < x - 0.5 || px > x + width + 0.5) continue;
    tick(ctx, px, y + height, 0, 4);
    ctx.fillText(write(value), px, y + height + 7);
  }
  ctx.textAlign = "right";
  ctx.fillText(sound ? "time (s)" : "x (px)", x + width, y + height + 21);
}

function paintY(ctx, view, sound) {
  const { x, y, height } = view.plot;
  const unit = sound ? 1000 : 1;
  const ends = [view.insideAt(x, y).y / unit, view.insideAt(x, y + height).y / unit];
  const ticks = niceTicks(Math.min(...ends), Math.max(...ends), height / TICK_EVERY.y);
  const places = placesOf(ticks.step);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  let last = Infinity;
  for (const value of ticks.values) {
    const py = view.pixelAt(0, view.toPlane(0, value * unit).v).y;
    if (py < y - 0.5 || py > y + height + 0.5 || Math.abs(py - last) < 15) continue;
    last = py;
    tick(ctx, x, py, -4, 0);
    ctx.fillText(value.toFixed(places), x - 7, py);
  }
  ctx.save();
  ctx.translate(10, y + height / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText(sound ? "frequency (kHz)" : "y (px)", 0, 0);
  ctx.restore();
}

function tick(ctx, px, py, dx, dy) {
  ctx.beginPath();
  ctx.moveTo(Math.round(px) + 0.5 * (dx === 0), Math.round(py) + 0.5 * (dy === 0));
  ctx.lineTo(Math.round(px) + dx + 0.5 * (dx === 0), Math.round(py) + dy + 0.5 * (dy === 0));
  ctx.stroke();
}

/** Round numbers (1, 2 or 5 times a power of ten apart) between two values, about `wanted` of them. */
export function niceTicks(from, to, wanted) {
  const span = Math.max(to - from, 1e-12);
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const values = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) values.push(i * step);
  return { step, values };
}

const TIME_STEPS = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400]; // seconds, as a clock divides them

/** Round times between two: whole minutes and hours where they are far apart. */
function timeTicks(from, to, wanted) {
  const rough = (to - from) / Math.max(1, wanted);
  const step = rough > 10 ? TIME_STEPS.find((s) => s >= rough * 0.999) : undefined;
  if (!step) return niceTicks(from, to, wanted);
  const values = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) values.push(i * step);
  return { step, values };
}

function placesOf(step) {
  return Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
}

function timeWriter(step, largest) {
  const places = placesOf(step);
  return (seconds) => formatTime(seconds, places, largest);
}

/** Seconds; minutes and seconds where the recording is longer than two minutes; hours too where it is that long. */
export function formatTime(seconds, places, largest = seconds) {
  if (largest < 120) return seconds.toFixed(places);
  const minutes = Math.floor(seconds / 60 + 1e-9);
  const rest = Math.max(0, seconds - 60 * minutes).toFixed(places).padStart(places ? places + 3 : 2, "0");
  if (largest < 3600) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}
