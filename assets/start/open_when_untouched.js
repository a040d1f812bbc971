/**
 * Opens what a person asked for and waited for, on their behalf, as soon as it is ready; unless they have begun
 * something else on the page since, which opening would take from them.
 */
const ACTIONS = ["pointerdown", "keydown"];
const waiting = new WeakMap(); // element of the component -> whether the page was touched

export default function ({ parentElement, data, setTriggerValue }) {
  let one = waiting.get(parentElement);
  if (!one) {
    one = { touched: false, opened: false, touch: () => { one.touched = true; } };
    waiting.set(parentElement, one);
  }
  for (const action of ACTIONS) document.addEventListener(action, one.touch, true);
  if (data.ready && !one.touched && !one.opened) {
    one.opened = true;
    setTriggerValue("untouched", true);
  }
  return () => {
    for (const action of ACTIONS) document.removeEventListener(action, one.touch, true);
  };
}
