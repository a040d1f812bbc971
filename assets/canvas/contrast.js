/**
 * Brightness and contrast of the pictures, in steps that a person chose in this browser; 0 is as the project has it.
 *
 * Of a sound, a step of brightness moves the levels of both ends of the colour map by some decibels; a step of contrast
 * narrows the range above the quiet end, which brings out faint calls and leaves the background dark.
 */
const MOST = 8; // steps to either side
const DECIBELS = 3;
const NARROWER = 0.85;
const PICTURE_GAIN = 1.12;

const shared = new Map();

/** The one setting of a project in this page load, which all canvases share. */
export function contrastFor(project) {
  if (!shared.has(project)) shared.set(project, new Contrast(`bagtag.contrast.${project}`));
  return shared.get(project);
}

/** Dispatches "change". */
export class Contrast extends EventTarget {
  constructor(key) {
    super();
    this.key = key;
    Object.assign(this, { brightness: 0, contrast: 0 }, this.#load());
  }

  get isChanged() {
    return this.brightness !== 0 || this.contrast !== 0;
  }

  change({ brightness = 0, contrast = 0 }) {
    this.#set(clampSteps(this.brightness + brightness), clampSteps(this.contrast + contrast));
  }

  reset() {
    this.#set(0, 0);
  }

  /** The colours of the 256 grey levels of a sound's tiles, as 32-bit numbers; `view` is how the project shows sounds. */
  ofSound({ colours: map, quiet, loud, levels: [lowest, highest] }) {
    const from = quiet - DECIBELS * this.brightness;
    const span = (loud - quiet) * NARROWER ** this.contrast;
    const table = new Uint32Array(256);
    for (let level = 0; level < 256; level++) {
      const decibels = lowest + (level * (highest - lowest)) / 255;
      const place = Math.floor(Math.min(Math.max((decibels - from) / span, 0), 1) * 255);
      const [r, g, b] = [0, 2, 4].map((i) => parseInt(map.slice(6 * place + i, 6 * place + i + 2), 16));
      table[level] = 0xff000000 + (b << 16) + (g << 8) + r;
    }
    return { name: `${from}/${span}/${map}`, colours: table };
  }

  /** What each of the 256 values of a photograph's channels becomes; its name is empty where nothing changes. */
  ofPicture() {
    const gain = PICTURE_GAIN ** this.brightness;
    const slope = PICTURE_GAIN ** this.contrast;
    const table = Uint8ClampedArray.from({ length: 256 }, (_, value) => (value * gain - 128) * slope + 128);
    return { name: this.isChanged ? `${gain}/${slope}` : "", colours: table };
  }

  #set(brightness, contrast) {
    if (brightness === this.brightness && contrast === this.contrast) return;
    Object.assign(this, { brightness, contrast });
    try {
      localStorage.setItem(this.key, JSON.stringify({ brightness, contrast }));
    } catch {
      // Storage full or switched off: the setting lasts as long as the page.
    }
    this.dispatchEvent(new Event("change"));
  }

  #load() {
    try {
      const stored = JSON.parse(localStorage.getItem(this.key)) ?? {};
      return Object.fromEntries(["brightness", "contrast"].filter((name) => Number.isInteger(stored[name])).map((name) => [name, clampSteps(stored[name])]));
    } catch {
      return {};
    }
  }
}

function clampSteps(steps) {
  return Math.min(MOST, Math.max(-MOST, steps));
}
