import { Disposables } from "/assets/disposables.js";
import { element } from "/assets/dom.js";
import { Legend } from "/assets/legend.js";
import { equal, test } from "/tests/check.js";

test("a click on a class labels with it, also where it is not stored yet", () => {
  const given = [];
  const legend = new Legend(new Disposables(), { mode: "review", commands: { label: (label) => given.push(label) }, layers: { node: { focus() {} } } });
  for (const id of ["3", "-2", "@7"]) {
    const chip = element("button", { type: "button", "data-class": id });
    legend.node.append(chip);
    chip.click();
  }
  equal(given, [3, -2, "@7"]);
});
