/** Outlines in the plane of a view: paths to draw, boxes to look up, and which segment lies under a point. */

let made = 0;

/**
 * Prepare a segment's outline (rings of x, y, x, y... in real units) for one view. Its path begins at its own left edge:
 * the single precision of a canvas has only milliseconds left three hours into a recording.
 */
export function makeShape(rings, view) {
  const planeRings = rings.map((ring) => toPlaneRing(ring, view));
  const path = new Path2D();
  const box = { u0: Infinity, u1: -Infinity, v0: Infinity, v1: -Infinity };
  let area = 0;
  for (const ring of planeRings) growBox(box, ring);
  for (const ring of planeRings) {
    traceRing(path, ring, box.u0);
    area += signedArea(ring, box.u0);
  }
  return { rings: planeRings, path, box, area: Math.abs(area), serial: ++made };
}

/** The smallest shape that holds a point, or one within `reach` (in u and v) of it; null when there is none. */
export function shapeAt(entries, u, v, reach = { u: 0, v: 0 }) {
  let found = null;
  let least = Infinity;
  for (const [id, shape] of entries) {
    if (shape.area >= least || !inBox(shape.box, u, v, 0, 0)) continue;
    if (insideRings(shape.rings, u, v)) {
      found = id;
      least = shape.area;
    }
  }
  return found ?? nearBox(entries, u, v, reach);
}

function nearBox(entries, u, v, reach) {
  let found = null;
  let least = Infinity;
  for (const [id, shape] of entries) {
    const small = shape.box.u1 - shape.box.u0 < 4 * reach.u || shape.box.v1 - shape.box.v0 < 4 * reach.v;
    if (small && shape.area < least && inBox(shape.box, u, v, reach.u, reach.v)) {
      found = id;
      least = shape.area;
    }
  }
  return found;
}

export function insideRings(rings, u, v) {
  let inside = false;
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
      const crosses = ring[i + 1] > v !== ring[j + 1] > v;
      if (crosses && u < ((ring[j] - ring[i]) * (v - ring[i + 1])) / (ring[j + 1] - ring[i + 1]) + ring[i]) inside = !inside;
    }
  }
  return inside;
}

/** Drop the points of a hand-drawn line that lie within `tolerance` pixels of the line through the others. */
export function simplify(points, tolerance) {
  if (points.length < 3) return points;
  const keep = new Set([0, points.length - 1]);
  const open = [[0, points.length - 1]];
  while (open.length) {
    const [from, to] = open.pop();
    let worst = tolerance;
    let at = -1;
    for (let i = from + 1; i < to; i++) {
      const off = distanceToLine(points[i], points[from], points[to]);
      if (off > worst) [worst, at] = [off, i];
    }
    if (at >= 0) {
      keep.add(at);
      open.push([from, at], [at, to]);
    }
  }
  return points.filter((_, i) => keep.has(i));
}

function distanceToLine(p, a, b) {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = Math.hypot(dx, dy);
  if (length === 0) return Math.hypot(p.x - a.x, p.y - a.y);
  return Math.abs(dy * (p.x - a.x) - dx * (p.y - a.y)) / length;
}

function toPlaneRing(ring, view) {
  const plane = new Float64Array(ring.length);
  for (let i = 0; i < ring.length; i += 2) {
    const { u, v } = view.toPlane(ring[i], ring[i + 1]);
    plane[i] = u;
    plane[i + 1] = v;
  }
  return plane;
}

function traceRing(path, ring, left) {
  for (let i = 0; i < ring.length; i += 2) {
    if (i === 0) path.moveTo(ring[0] - left, ring[1]);
    else path.lineTo(ring[i] - left, ring[i + 1]);
  }
  path.closePath();
}

function growBox(box, ring) {
  for (let i = 0; i < ring.length; i += 2) {
    box.u0 = Math.min(box.u0, ring[i]);
    box.u1 = Math.max(box.u1, ring[i]);
    box.v0 = Math.min(box.v0, ring[i + 1]);
    box.v1 = Math.max(box.v1, ring[i + 1]);
  }
}

function signedArea(ring, left) {
  let twice = 0;
  for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
    twice += (ring[j] - left) * ring[i + 1] - (ring[i] - left) * ring[j + 1];
  }
  return twice / 2;
}

function inBox(box, u, v, du, dv) {
  return u >= box.u0 - du && u <= box.u1 + du && v >= box.v0 - dv && v <= box.v1 + dv;
}
