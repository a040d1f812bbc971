import { apiFor } from "/assets/api.js";
import { outboxFor } from "/assets/outbox.js";
import { equal, test, until } from "/tests/check.js";

const posts = []; // {token, edits, respond}
window.fetch = (address, { headers, body }) =>
  new Promise((resolve) => {
    const { edits } = JSON.parse(body);
    posts.push({ token: headers["X-Bagtag-Token"], edits, respond: (status, result = {}) => resolve(response(status, result)) });
  });

const response = (status, result) => ({ ok: status === 200, status, statusText: "", json: async () => result });
const stored = ({ edits }) => ({ revision: 1, results: edits.map(({ number }) => ({ number })) });
const access = (token) => apiFor({ base: "", project: "p", token, listen: "" });
const edit = { act: "finish" };

test("edits wait for the token of a new page run, and are sent with it", async () => {
  const outbox = outboxFor("p", access("old"));
  outbox.add(edit, 1, "Ann", null);
  posts[0].respond(401);
  await until(() => outbox.state === "offline");
  equal(posts.length, 1, "there is nothing to try again with");
  outboxFor("p", access("new"));
  equal(posts[1].token, "new");
  posts[1].respond(200, stored(posts[1]));
  await until(() => outbox.state === "saved");
});

test("edits are sent again if the token was replaced before the old one was refused", async () => {
  const outbox = outboxFor("p", access("old"));
  outbox.add(edit, 1, "Ann", null);
  outboxFor("p", access("new"));
  posts[2].respond(401);
  await until(() => posts.length === 4);
  equal(posts[3].token, "new");
  posts[3].respond(200, stored(posts[3]));
  await until(() => outbox.state === "saved");
  equal(outbox.stored, 2);
});
