import draw from "/assets/open_when_untouched.js";
import { equal, test } from "/tests/check.js";

function mount() {
  const opened = [];
  const parentElement = document.createElement("div");
  const show = (ready) => draw({ parentElement, data: { ready }, setTriggerValue: (name) => opened.push(name) });
  return { opened, show, end: show(false) };
}

test("what was waited for opens once, when it is ready", () => {
  const { opened, show, end } = mount();
  equal(opened, []);
  show(true);
  show(true);
  equal(opened, ["untouched"]);
  end();
});

for (const action of ["pointerdown", "keydown"]) {
  test(`after a ${action} anywhere on the page nothing opens by itself`, () => {
    const { opened, show, end } = mount();
    document.dispatchEvent(new Event(action));
    show(true);
    equal(opened, []);
    end();
  });
}

test("another wait begins untouched", () => {
  const first = mount();
  document.dispatchEvent(new Event("keydown"));
  first.end();
  const second = mount();
  second.show(true);
  equal(second.opened, ["untouched"]);
  second.end();
});
