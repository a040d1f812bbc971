import { Viewport } from "/assets/viewport.js";
import { equal, test } from "/tests/check.js";

const EXTENT = { left: 0, right: 10, top: 20_000, bottom: 0, scale: "linear" };
const PLOT = { x: 0, y: 0, width: 1000, height: 200 };
const viewOf = (band, more = {}) => {
  const view = new Viewport({ ...EXTENT, ...more }, "sound", null, band);
  view.fit(PLOT);
  return view;
};
const shown = ({ window }) => [window.v0, window.v1];

test("a sound is shown with the project's frequencies, held inside what was analysed", () => {
  equal(shown(viewOf(null)), [20_000, 0]);
  equal(shown(viewOf([2_000, 8_000])), [8_000, 2_000]);
  equal(shown(viewOf([2_000, null])), [20_000, 2_000]);
  equal(shown(viewOf([0, 99_000])), [20_000, 0]);
  equal(shown(viewOf([30_000, 60_000])), [20_000, 0], "nothing of the range is in this recording: all is shown");
  equal(viewOf([5_000, 10_000]).bandShares, [0.5, 0.75]);
});

test("other frequencies leave the time in view as it is; seeing all shows the range", () => {
  const view = viewOf(null);
  view.zoomAbout(500, 100, 4, 1);
  const { u0, u1 } = view.window;
  view.setBand([1_000, 9_000]);
  equal(view.window, { u0, u1, v0: 9_000, v1: 1_000 });
  view.reset();
  equal(view.window, { u0: 0, u1: 10, v0: 9_000, v1: 1_000 });
});

test("a segment outside the range becomes visible when it is selected", () => {
  const view = viewOf([1_000, 9_000]);
  equal(view.reveal({ u0: 4, u1: 5, v0: 2_000, v1: 3_000 }), false);
  equal(view.reveal({ u0: 4, u1: 5, v0: 7_000, v1: 10_000 }), true, "it moves no further than the range");
  equal(shown(view), [9_000, 1_000]);
  equal(view.reveal({ u0: 4, u1: 5, v0: 15_000, v1: 16_000 }), true);
  equal(shown(view), [20_000, 0]);
  view.reset();
  equal(shown(view), [9_000, 1_000]);
});
