import { isLeaving, lastUsed, timing, untilLeaving, watchPageChanges } from "/assets/page_change.js";
import { equal, test, until } from "/tests/check.js";

Object.assign(timing, { clickedAgainAfter: 60000, givenUpAfter: 60000 }); // a busy computer takes longer than usual

/** A page as Streamlit draws it: links above, one of them current, and a page with a text box; `sent` is what it sends. */
function draw() {
  const sent = [];
  const body = document.createElement("div");
  body.innerHTML = `<button data-testid="stLogoLink"></button>
    <nav><a href="/tag" aria-current="page" data-testid="stTopNavLink">Tag</a><a href="/train">Train</a><a href="/wall">Wall</a></nav>
    <div data-testid="stMain"><input><button>Start</button></div>`;
  document.body.replaceChildren(body);
  const [tag, train, wall] = body.querySelectorAll("a");
  const main = body.querySelector("[data-testid=stMain]");
  for (const link of [tag, train, wall]) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      sent.push(link.textContent);
    });
  }
  const later = (text) => setTimeout(() => sent.push(text)); // as Streamlit sends the triggers of buttons
  main.querySelector("button").addEventListener("click", () => later("start"));
  main.querySelector("input").addEventListener("blur", () => later("typed"));
  const end = watchPageChanges();
  const arriveAt = (link) => {
    for (const one of [tag, train, wall]) one.removeAttribute("aria-current");
    link.setAttribute("aria-current", "page");
  };
  return { sent, tag, train, wall, main, end, arriveAt };
}

test("a button that was clicked in the same moment is sent before the link", async () => {
  const { sent, train, main, end } = draw();
  main.querySelector("button").click();
  train.click();
  equal(sent, [], "nothing was sent yet");
  await until(() => sent.length === 2);
  equal(sent, ["start", "Train"]);
  end();
});

test("a text box that has the cursor reports before the link is followed", async () => {
  const { sent, train, main, end } = draw();
  main.querySelector("input").focus();
  train.click();
  await until(() => sent.length === 2);
  equal(sent, ["typed", "Train"]);
  end();
});

test("a link waits until what was just typed has been reported", async () => {
  const { sent, train, main, end } = draw();
  main.querySelector("input").dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  const typed = lastUsed();
  train.click();
  await until(() => sent.length === 1);
  const waited = performance.now() - typed;
  equal(waited >= 249, true, `after ${waited} ms`);
  end();
});

test("the page that is left can neither be used nor report, until the other one is there", async () => {
  const { train, main, end, arriveAt } = draw();
  const reported = [];
  const component = untilLeaving({ data: 1, setStateValue: (name) => reported.push(name), setTriggerValue: () => {} });
  component.setStateValue("before");
  train.click();
  equal([isLeaving(), main.hasAttribute("inert")], [true, true]);
  component.setStateValue("while");
  let pressed = 0;
  document.addEventListener("keydown", () => (pressed += 1), { once: true });
  main.dispatchEvent(new KeyboardEvent("keydown", { key: "x", bubbles: true }));
  equal(pressed, 0, "keys are not for the page that is left");
  arriveAt(train);
  await until(() => !isLeaving());
  equal([isLeaving(), main.hasAttribute("inert")], [false, false]);
  component.setStateValue("after");
  equal(reported, ["before", "after"]);
  end();
});

test("of two links clicked one after the other only the last is followed", async () => {
  const { sent, train, wall, end } = draw();
  train.click();
  wall.click();
  await until(() => sent.length > 0);
  equal(sent, ["Wall"]);
  end();
});

test("links that open elsewhere, or lead nowhere else, are left to the browser", () => {
  const { sent, train, tag, end } = draw();
  const away = (event) => event.preventDefault();
  document.addEventListener("click", away);
  train.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }));
  train.target = "_blank";
  train.click();
  tag.href = location.href;
  tag.click();
  equal([sent, isLeaving()], [["Train", "Train", "Tag"], false]);
  document.removeEventListener("click", away);
  end();
});

test("a click on a link is no use of the page; a click on the page is", () => {
  const { train, main, end } = draw();
  const before = lastUsed();
  train.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  equal(lastUsed(), before);
  main.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  equal(lastUsed() > before, true);
  end();
});

test("a table cell that is being edited reports before the link is followed", async () => {
  const { sent, train, end } = draw();
  const cell = document.createElement("textarea"); // drawn over the page, not in it
  document.body.append(cell);
  cell.focus();
  const pressed = performance.now();
  train.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
  train.click();
  await until(() => sent.length === 1);
  const waited = performance.now() - pressed;
  equal(waited >= 249, true, `after ${waited} ms`);
  end();
});

test("the logo leads to the first page as its link does", async () => {
  const { sent, tag, train, main, end, arriveAt } = draw();
  arriveAt(train);
  document.querySelector("[data-testid=stLogoLink]").click();
  equal([isLeaving(), main.hasAttribute("inert")], [true, true]);
  await until(() => sent.length > 0);
  equal(sent, ["Tag"]);
  arriveAt(tag);
  await until(() => !isLeaving());
  end();
});

test("a link that the server forgot is clicked once more", async () => {
  timing.clickedAgainAfter = 50;
  for (const switched of [false, true]) {
    const { sent, train, wall, end, arriveAt } = draw();
    train.click();
    if (switched) arriveAt(wall); // by what a button of the page did
    await until(() => sent.length > 1);
    if (switched) await until(() => !isLeaving()); // the page that is there can be used
    equal([sent, isLeaving()], [["Train", "Train"], !switched]);
    arriveAt(train);
    await until(() => !isLeaving());
    equal(sent.length, 2);
    end();
  }
  timing.clickedAgainAfter = 60000;
});

test("back to the page that is being left", async () => {
  const { sent, tag, train, main, end } = draw();
  history.replaceState(null, "", "/tag");
  train.click();
  tag.click();
  await until(() => sent.length > 0 && !isLeaving());
  equal([sent, main.hasAttribute("inert")], [["Tag"], false]);
  end();
});

test("a page that never arrives is given up, but not while a script runs", async () => {
  const { train, main, end } = draw();
  timing.givenUpAfter = 100;
  const app = document.createElement("div");
  app.dataset.testid = "stApp";
  app.dataset.testScriptState = "running";
  document.body.append(app);
  train.click();
  await new Promise((resolve) => setTimeout(resolve, 300));
  equal(isLeaving(), true);
  app.dataset.testScriptState = "notRunning";
  await until(() => !isLeaving());
  equal(main.hasAttribute("inert"), false);
  timing.givenUpAfter = 60000;
  end();
});

test("the way back in the history leaves the page, another part of the same page does not", async () => {
  const { tag, end, arriveAt, train } = draw();
  history.replaceState(null, "", "/tag");
  window.dispatchEvent(new PopStateEvent("popstate"));
  equal(isLeaving(), false);
  history.replaceState(null, "", "/train");
  window.dispatchEvent(new PopStateEvent("popstate"));
  equal(isLeaving(), true);
  arriveAt(train);
  await until(() => !isLeaving());
  equal(tag.isConnected, true);
  end();
});
