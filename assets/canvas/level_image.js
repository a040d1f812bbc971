/** A tile of a spectrogram as it comes from the server: grey levels, coloured here, so that contrast changes at once. */
const READ_EXACTLY = { colorSpaceConversion: "none", premultiplyAlpha: "none" };

export class LevelImage {
  #levels;
  #picture;
  #shows = ""; // the name of the colours it is painted with

  /** Read the grey levels of an encoded picture. */
  static async read(blob) {
    const bitmap = await createImageBitmap(blob, READ_EXACTLY);
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const ctx = canvas.getContext("2d", { willReadFrequently: true });
    ctx.drawImage(bitmap, 0, 0);
    bitmap.close();
    return new LevelImage(ctx.getImageData(0, 0, canvas.width, canvas.height));
  }

  constructor({ data, width, height }) {
    Object.assign(this, { width, height });
    this.#levels = new Uint8Array(width * height);
    for (let i = 0; i < this.#levels.length; i++) this.#levels[i] = data[4 * i];
  }

  /** The picture in the colours of a table (`{ name, colours }`, see contrast.js). */
  colouredWith({ name, colours }) {
    if (this.#shows === name) return this.#picture;
    const pixels = new ImageData(this.width, this.height);
    const words = new Uint32Array(pixels.data.buffer);
    for (let i = 0; i < words.length; i++) words[i] = colours[this.#levels[i]];
    this.#picture ??= new OffscreenCanvas(this.width, this.height);
    this.#picture.getContext("2d").putImageData(pixels, 0, 0);
    this.#shows = name;
    return this.#picture;
  }
}

/** A photograph with another brightness and contrast; the same one where neither is changed. */
export function adjusted(bitmap, { name, colours }) {
  if (name === "") return bitmap;
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const ctx = canvas.getContext("2d");
  ctx.drawImage(bitmap, 0, 0);
  const pixels = ctx.getImageData(0, 0, canvas.width, canvas.height);
  const { data } = pixels;
  for (let i = 0; i < data.length; i += 4) {
    for (let channel = i; channel < i + 3; channel++) data[channel] = colours[data[channel]];
  }
  ctx.putImageData(pixels, 0, 0);
  return canvas;
}
