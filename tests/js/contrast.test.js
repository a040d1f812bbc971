import { Contrast } from "/assets/contrast.js";
import { adjusted, LevelImage } from "/assets/level_image.js";
import { equal, test } from "/tests/check.js";

let settings = 0;
const fresh = () => new Contrast(`test.contrast.${++settings}`);
const GREY = Array.from({ length: 256 }, (_, k) => k.toString(16).padStart(2, "0").repeat(3)).join("");
const VIEW = { colours: GREY, quiet: 0, loud: 40, levels: [-20, 80] };
const greyAt = ({ colours }, decibels) => colours[Math.round(((decibels + 20) / 100) * 255)] & 0xff;

/** An encoded picture of these grey levels, one row. */
async function pictureOf(levels) {
  const canvas = new OffscreenCanvas(levels.length, 1);
  const pixels = new ImageData(Uint8ClampedArray.from(levels.flatMap((v) => [v, v, v, 255])), levels.length, 1);
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas.convertToBlob({ type: "image/png" });
}

const valuesOf = (picture, channel) => {
  const { data } = picture.getContext("2d").getImageData(0, 0, picture.width, 1);
  return Array.from({ length: picture.width }, (_, x) => data[4 * x + channel]);
};

test("unchanged, levels have the colours that the project's range gives them", () => {
  const table = fresh().ofSound(VIEW);
  equal([greyAt(table, -10), greyAt(table, 60)], [0, 255]);
  equal(Math.abs(greyAt(table, 20) - 127) <= 2, true);
});

test("brighter moves all levels up; more contrast brings out what is faint and keeps the quiet end dark", () => {
  const one = fresh();
  const before = greyAt(one.ofSound(VIEW), 10);
  one.change({ contrast: 3 });
  equal([greyAt(one.ofSound(VIEW), 10) > before + 20, greyAt(one.ofSound(VIEW), 0)], [true, 0]);
  one.reset();
  equal(greyAt(one.ofSound(VIEW), 10), before);
  one.change({ brightness: 2 });
  equal([greyAt(one.ofSound(VIEW), 10) > before, greyAt(one.ofSound(VIEW), 0) > 0], [true, true]);
});

test("steps are kept for the project, have an end, and nonsense in the storage is ignored", () => {
  const one = fresh();
  for (let k = 0; k < 20; k++) one.change({ brightness: 1, contrast: -1 });
  const again = new Contrast(one.key);
  equal([again.brightness, again.contrast], [8, -8]);
  localStorage.setItem(one.key, '{"brightness": "high", "contrast": 99}');
  const odd = new Contrast(one.key);
  equal([odd.brightness, odd.contrast], [0, 8]);
});

test("a tile is coloured by its exact levels, and again when the contrast changes", async () => {
  const image = await LevelImage.read(await pictureOf([0, 51, 102, 153, 255]));
  const one = fresh();
  equal([image.width, image.height], [5, 1]);
  const table = one.ofSound(VIEW);
  equal(valuesOf(image.colouredWith(table), 0), [0, 51, 102, 153, 255].map((level) => table.colours[level] & 0xff));
  one.change({ brightness: 8 });
  equal(valuesOf(image.colouredWith(one.ofSound(VIEW)), 2)[1], one.ofSound(VIEW).colours[51] & 0xff);
});

test("a photograph changes only where a person asked for it", async () => {
  const bitmap = await createImageBitmap(await pictureOf([0, 100, 128, 200]));
  const one = fresh();
  equal(adjusted(bitmap, one.ofPicture()) === bitmap, true);
  one.change({ contrast: 2 });
  const [black, dark, middle, bright] = valuesOf(adjusted(bitmap, one.ofPicture()), 1);
  equal([black, dark < 100, middle, bright > 200], [0, true, 128, true]);
});
