/**
 * The middle of a segment of a picture, where its name goes. Segments of a picture lie edge to edge, so that a name
 * beside one would stand in its neighbour; and the middle of a bent one's box may be outside it.
 */
import { insideRings } from "./shapes.js";

const STEPS = 12;
const anchors = new WeakMap();

/** The point of the plane furthest from a shape's edge, of those on a grid over its box. */
export function labelAnchor(shape) {
  if (!anchors.has(shape)) anchors.set(shape, findAnchor(shape));
  return anchors.get(shape);
}

function findAnchor({ rings, box }) {
  let anchor = { u: (box.u0 + box.u1) / 2, v: (box.v0 + box.v1) / 2 };
  let furthest = -1;
  for (let i = 0; i < STEPS; i++) {
    for (let j = 0; j < STEPS; j++) {
      const u = box.u0 + ((i + 0.5) / STEPS) * (box.u1 - box.u0);
      const v = box.v0 + ((j + 0.5) / STEPS) * (box.v1 - box.v0);
      if (!insideRings(rings, u, v)) continue;
      const distance = distanceToEdge(rings, u, v);
      if (distance > furthest) [anchor, furthest] = [{ u, v }, distance];
    }
  }
  return anchor;
}

/** Squared distance to the nearest piece of outline. */
function distanceToEdge(rings, u, v) {
  let least = Infinity;
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
      const du = ring[i] - ring[j];
      const dv = ring[i + 1] - ring[j + 1];
      const along = ((u - ring[j]) * du + (v - ring[j + 1]) * dv) / (du * du + dv * dv || 1);
      const t = Math.min(Math.max(along, 0), 1);
      least = Math.min(least, (u - ring[j] - t * du) ** 2 + (v - ring[j + 1] - t * dv) ** 2);
    }
  }
  return least;
}
