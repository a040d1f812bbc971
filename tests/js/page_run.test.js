import { runPage, show, timing } from "/assets/page_run.js";
import { timing as pageChange, watchPageChanges } from "/assets/page_change.js";
import { equal, test, until } from "/tests/check.js";

const app = document.createElement("div");
app.dataset.testid = "stApp";
app.dataset.testConnectionState = "CONNECTED";
document.body.append(app);

function mount() {
  const triggers = [];
  show({ setTriggerValue: (name) => triggers.push(name) });
  return triggers;
}

const connection = async (state) => {
  app.dataset.testConnectionState = state;
  await new Promise((resolve) => setTimeout(resolve));
};

test("the page runs when the connection to the server is back", async () => {
  timing.pause = 0;
  const triggers = mount();
  await connection("PINGING_SERVER");
  equal(triggers, []);
  await connection("CONNECTED");
  equal(triggers, ["lost"]);
  const later = mount();
  await connection("CONNECTING");
  await connection("CONNECTED");
  equal([triggers.length, later], [1, ["lost"]], "the component of the latest run asks, once");
  await connection("DISCONNECTED_FOREVER");
  runPage();
  equal(later.length, 1, "nothing is sent without a connection");
  await connection("CONNECTED");
  equal(later.length, 2);
});

test("the page is asked to run again only after a pause", async () => {
  const triggers = mount();
  timing.pause = 100;
  runPage();
  runPage();
  equal(triggers.length <= 1, true);
  await until(() => (runPage(), triggers.length >= 2));
});

function drawLink() {
  const followed = [];
  const link = document.createElement("a");
  link.href = "/train";
  link.addEventListener("click", (event) => {
    event.preventDefault();
    followed.push("train");
  });
  document.body.append(link);
  return { link, followed };
}

test("a response to an old token, after the page has run, keeps no link waiting", async () => {
  Object.assign(pageChange, { readyWithin: 60000, clickedAgainAfter: 60000, givenUpAfter: 60000 });
  timing.pause = 0;
  mount();
  runPage();
  mount();
  timing.pause = 60000;
  runPage();
  const { link, followed } = drawLink();
  const end = watchPageChanges();
  link.click();
  await until(() => followed.length === 1);
  end();
});

test("a link waits until the server knows the page again", async () => {
  timing.pause = 0;
  const { link, followed } = drawLink();
  const end = watchPageChanges();
  const triggers = mount();
  await connection("CONNECTING");
  link.click();
  await connection("CONNECTED");
  equal(triggers, ["lost"]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  equal(followed, [], "the page has not run yet");
  mount();
  await until(() => followed.length === 1);
  end();
});
