import { conflictNote } from "/assets/card.js";
import { equal, test } from "/tests/check.js";

const bag = { classes: new Map([[1, { name: "Wren" }], [2, { name: "Robin" }]]) };
const conflict = { ours: 1, ours_by: "Ann", theirs: 2, theirs_by: "Bob" };

test("Enter keeps a label of a person", () => {
  const segment = { label: 1, checked_by: "eye", conflict };
  equal(conflictNote(segment, bag), "The annotators disagree. Ann: Wren · Bob: Robin. Enter keeps Wren.");
});

test("nothing is said of keeping where Enter accepts the prediction", () => {
  const open = { label: null, checked_by: null, conflict: { ...conflict, ours: null, ours_by: "" } };
  equal(conflictNote(open, bag), "The annotators disagree. here: no label · Bob: Robin.");
  equal(conflictNote({ label: 1, checked_by: "threshold", conflict }, bag), "The annotators disagree. Ann: Wren · Bob: Robin.");
});
