import { nameOfClass } from "/assets/dom.js";
import { equal, test } from "/tests/check.js";

const parts = (name) => [...nameOfClass(name).children].map((part) => part.textContent);

test("the last word of a long name stays in sight", () => {
  equal(parts("Great Spotted Woodpecker call"), ["Great Spotted Woodpecker ", "call"]);
  equal(parts("Great Spotted Woodpecker"), []);
  equal(parts("Great tit"), []);
  equal(nameOfClass("Great Spotted Woodpecker call").textContent, "Great Spotted Woodpecker call");
  equal(nameOfClass("<b>Wren</b>").textContent, "<b>Wren</b>");
});
