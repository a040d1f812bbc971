import { classForKey, guessForKey, keysFor, rowFor } from "/assets/keys.js";
import { equal, test } from "/tests/check.js";

const key = (name, more = {}) => ({ key: name, altKey: false, ctrlKey: false, metaKey: false, shiftKey: false, ...more });

test("a class is found by its key in either case, never with Ctrl or Alt", () => {
  const classes = [{ id: 1, keys: ["w"] }, { id: 2, keys: ["2"] }];
  equal(classForKey(key("W"), classes).id, 1);
  equal(classForKey(key("2"), classes).id, 2);
  equal(classForKey(key("w", { ctrlKey: true }), classes), null);
  equal(classForKey(key("w", { altKey: true }), classes), null);
});

test("Shift distinguishes accepting a bag from accepting a segment", () => {
  equal(rowFor(key("Enter"), "review", "sound").shown, "Enter");
  equal(rowFor(key("Enter", { shiftKey: true }), "review", "sound").shown, "Shift+Enter");
  equal(rowFor(key("Enter", { ctrlKey: true }), "review", "sound").shown, "Ctrl+Enter");
  equal(rowFor(key("z", { metaKey: true, shiftKey: true }), "tag", "picture").shown, "Ctrl+Shift+Z");
});

test("no two rows of a mode want the same key", () => {
  for (const mode of ["review", "segment", "tag", "view"]) {
    for (const kind of ["sound", "picture"]) {
      const names = keysFor(mode, kind).flatMap((row) => row.keys.map((k) => `${row.ctrl ? "Ctrl+" : ""}${row.shift ? "Shift+" : ""}${k}`));
      equal(names.length, new Set(names).size, `${mode}, ${kind}`);
    }
  }
});

test("keys for sound do nothing on a picture", () => {
  equal(rowFor(key(" "), "review", "picture"), null);
});

test("Shift and a number stand for a guess, on keyboards where Shift does not make the number itself", () => {
  equal(guessForKey(key("@", { shiftKey: true, code: "Digit2" })), 1);
  equal(guessForKey(key('"', { shiftKey: true, code: "Digit2" })), 1);
  equal(guessForKey(key("2", { shiftKey: true, code: "Digit2" })), null);
  equal(guessForKey(key("2", { code: "Digit2" })), null);
  equal(guessForKey(key("@", { shiftKey: true, ctrlKey: true, code: "Digit2" })), null);
  equal(guessForKey(key("?", { shiftKey: true, code: "Slash" })), null);
});
