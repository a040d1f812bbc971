import { counted, shorten } from "/assets/text.js";
import { equal, test } from "/tests/check.js";

test("a short name keeps the word by which it differs", () => {
  equal(shorten("Great Spotted Woodpecker call", 12), "Great… call");
  equal(shorten("Mediterranean Warbler call", 16), "Mediterran… call");
  equal(shorten("Mediterranean Warbler", 16), "Mediterranean W…");
  equal(shorten("Grey Wagtail", 12), "Grey Wagtail");
});

test("one is singular, many digits are grouped", () => {
  equal([0, 1, 2, 12000].map((n) => counted(n, "segment")), ["0 segments", "1 segment", "2 segments", "12\u202f000 segments"]);
});
