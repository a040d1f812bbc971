/** The routes of the app: bags, pictures, sound, the queue, counters, revisions, edits. */

import { LevelImage } from "./level_image.js";

const KEPT_BAGS = 12;
const KEPT_SUGGESTIONS = 40;
const KEPT_IMAGES = 8;
const KEPT_TILE_PIXELS = 32_000_000; // 5 bytes each: the level and the colour
const KEEPALIVE_BYTES = 60_000; // browsers refuse more

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** The server does not accept the token: a new one helps, trying again does not. */
  get unauthorized() {
    return this.status === 401;
  }
}

const apis = new Map();

/** The one client of a project in this page load, with the token of the latest page run. */
export function apiFor(data) {
  if (!apis.has(data.project)) apis.set(data.project, new Api(data));
  const api = apis.get(data.project);
  api.connect(data);
  return api;
}

/** Dispatches "unauthorized" when the server was restarted and does not accept the token any more. */
export class Api extends EventTarget {
  #bags = new Map();
  #suggestions = new Map();
  #images = new Map();
  #tiles = new Map();
  #tilePixels = 0;
  #pending = new Map();

  constructor(data) {
    super();
    this.connect(data);
  }

  /** Take the token of the latest page run; a restarted server has a new one. */
  connect({ base, project, token, listen }) {
    this.root = new URL(`${base}/bagtag/${project}/`, location.origin);
    this.token = token;
    this.listenToken = listen;
  }

  /** A bag as last fetched, without asking; undefined when it never was. */
  knownBag(id) {
    return this.#bags.get(id);
  }

  /** Change the copy of a bag that was fetched before. */
  amendBag(id, change) {
    if (this.#bags.has(id)) this.#bags.set(id, change(this.#bags.get(id)));
  }

  knownImage(id, version) {
    return this.#images.get(`${id}/${version}`);
  }

  /** A bag as it is now; `query` selects the segments of a long one. */
  bag(id, query = {}) {
    const path = `bag/${id}${Object.keys(query).length ? `?${new URLSearchParams(query)}` : ""}`;
    return this.#once(path, async () => {
      const bag = await this.#json(path);
      const isOlder = bag.revision < this.#bags.get(id)?.revision; // it was sent before edits that the copy here has
      if (!isOlder) keep(this.#bags, id, bag, KEPT_BAGS);
      return bag;
    });
  }

  /** The suggested tags of a sound as last fetched, without asking; undefined when they never were. */
  knownSuggestions(id) {
    return this.#suggestions.get(id);
  }

  /** The suggested tags of a sound as they are now; BirdNET may have to analyse it first. */
  suggestions(id) {
    return this.#once(`suggestions/${id}`, async () => {
      const found = await this.#json(`bag/${id}/suggestions`);
      keep(this.#suggestions, id, found, KEPT_SUGGESTIONS);
      return found;
    });
  }

  /** The bag's picture at the version its outlines belong to. */
  image(id, version) {
    const name = `${id}/${version}`;
    if (this.#images.has(name)) return Promise.resolve(this.#images.get(name));
    return this.#once(`image/${name}`, async () => {
      const response = await this.#get(`image/${id}?v=${encodeURIComponent(version)}`);
      const image = await createImageBitmap(await response.blob());
      keep(this.#images, name, image, KEPT_IMAGES);
      return image;
    });
  }

  knownTile(id, version, level, tile) {
    const name = `${id}/${version}/${level}/${tile}`;
    const image = this.#tiles.get(name);
    if (image) {
      this.#tiles.delete(name);
      this.#tiles.set(name, image);
    }
    return image;
  }

  /** One tile of a bag's spectrogram; those used longest ago are dropped. */
  tile(id, version, level, tile) {
    const name = `${id}/${version}/${level}/${tile}`;
    if (this.#tiles.has(name)) return Promise.resolve(this.#tiles.get(name));
    return this.#once(`tile/${name}`, async () => {
      const response = await this.#get(`image/${id}?v=${encodeURIComponent(version)}&level=${level}&tile=${tile}`);
      const image = await LevelImage.read(await response.blob());
      this.#tiles.set(name, image);
      this.#tilePixels += image.width * image.height;
      for (const [oldest, old] of this.#tiles) {
        if (this.#tilePixels <= KEPT_TILE_PIXELS || oldest === name) break;
        this.#tiles.delete(oldest);
        this.#tilePixels -= old.width * old.height;
      }
      return image;
    });
  }

  /** The id of the segment after or before another of a long bag, or null. */
  async nextSegment(id, query) {
    return (await this.#json(`bag/${id}/next?${new URLSearchParams(query)}`)).segment;
  }

  /** Segments that a page only tries out. */
  preview(id) {
    return this.#json(`preview/${id}`);
  }

  /** Fetch the next bag before it is asked for. */
  async preload([id, segment], tilesOf) {
    const bag = this.knownBag(id) ?? (await this.bag(id, segment === null ? {} : { segment }));
    if (!bag.tiles) await this.image(id, bag.image);
    else await Promise.all(tilesOf(bag).map(([level, tile]) => this.tile(id, bag.image, level, tile)));
  }

  /** The next items of a queue, and where the batch after them begins. */
  queue(query) {
    return this.#json(`queue?${new URLSearchParams(query)}`);
  }

  /** The ids of a wall, its title, and the classes with their numbers of segments. */
  wall(query) {
    return this.#json(`wall?${new URLSearchParams(query)}`);
  }

  /** What a wall shows of segments. */
  wallItems(ids) {
    return this.#json(`wall/items?ids=${ids.join(",")}`);
  }

  /** Small pictures of segments, all in one response: `pictures` as bitmaps, `problems` as sentences. */
  async cutouts(ids) {
    const response = await this.#get(`wall/cutouts?ids=${ids.join(",")}`);
    return unpackCutouts(await response.arrayBuffer());
  }

  /** A large picture of a segment. */
  async largeCutout(id) {
    const response = await this.#get(`wall/large/${id}`);
    return createImageBitmap(await response.blob());
  }

  /** How much is checked, how often the model was right, whether a model is being trained. */
  counters() {
    return this.#once("counters", () => this.#json("counters"));
  }

  /** Start a training like that of the current model. */
  retrain() {
    return this.#json("retraining", { method: "POST" });
  }

  /** Show all bags of the project with these frequencies (hertz; null: as far as there are any). */
  setViewBand(low, high) {
    const headers = { "Content-Type": "application/json" };
    return this.#json("view-band", { method: "POST", headers, body: JSON.stringify({ low, high }) });
  }

  /** What changed after a revision: the new revision, bags, topics. */
  news(since) {
    return this.#json(`news?since=${since}`);
  }

  soundUrl(id, query) {
    const url = new URL(`sound/${id}`, this.root);
    url.search = new URLSearchParams({ ...query, t: this.listenToken });
    return url.href;
  }

  post(edits) {
    const body = JSON.stringify({ edits });
    const headers = { "Content-Type": "application/json" };
    return this.#json("edits", { method: "POST", keepalive: body.length < KEEPALIVE_BYTES, headers, body });
  }

  /** Share one request between all that ask for the same while it is being fetched. */
  #once(name, ask) {
    if (!this.#pending.has(name)) {
      this.#pending.set(name, ask().finally(() => this.#pending.delete(name)));
    }
    return this.#pending.get(name);
  }

  async #json(path, options) {
    return (await this.#get(path, options)).json();
  }

  async #get(path, options = {}) {
    const { token } = this;
    const headers = { ...options.headers, "X-Bagtag-Token": token };
    const response = await fetch(new URL(path, this.root), { ...options, headers, credentials: "same-origin" });
    if (response.ok) return response;
    const error = new ApiError(response.status, await messageOf(response));
    if (error.unauthorized && token !== this.token) return this.#get(path, options); // a new one has come meanwhile
    if (error.unauthorized) this.dispatchEvent(new Event("unauthorized"));
    throw error;
  }
}

/** A length, JSON of that length with the size of every picture, the pictures. */
async function unpackCutouts(buffer) {
  const size = new DataView(buffer).getUint32(0);
  const { pictures, problems } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const blobs = [];
  let at = 4 + size;
  for (const [id, length] of pictures) {
    blobs.push([id, new Blob([new Uint8Array(buffer, at, length)], { type: "image/jpeg" })]);
    at += length;
  }
  const bitmaps = await Promise.all(blobs.map(async ([id, blob]) => [id, await createImageBitmap(blob)]));
  return { pictures: new Map(bitmaps), problems: new Map(Object.entries(problems).map(([id, why]) => [Number(id), why])) };
}

async function messageOf(response) {
  try {
    return (await response.json()).error ?? response.statusText;
  } catch {
    return response.statusText;
  }
}

function keep(map, name, value, most) {
  map.delete(name);
  map.set(name, value);
  if (map.size > most) map.delete(map.keys().next().value);
}
