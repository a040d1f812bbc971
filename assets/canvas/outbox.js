/**
 * Edits on their way to the project.
 *
 * Every edit carries the nonce of the page load that made it and a number, so that the server can tell a repeat from
 * a new edit. A page load takes a new nonce even when session storage was copied (a duplicated tab): only what is
 * still unsent keeps its old one. Edits leave in order, one POST at a time, and are forgotten only when the server says
 * that they are stored, or why they never will be. A segment drawn a moment ago is named "@number of its edit".
 */
import { Refused } from "./server.js";

const MOST_AT_ONCE = 50;
const MOST_BYTES = 48_000; // a browser lets 64 kB of requests outlive their page
const FIRST_WAIT = 400;
const LONGEST_WAIT = 10_000;
const outboxes = new Map();

/** The one outbox a project has in this page load; it goes on sending while no canvas is shown. */
export function outboxFor(project, server) {
  if (!outboxes.has(project)) outboxes.set(project, new Outbox(project));
  const outbox = outboxes.get(project);
  outbox.sendThrough(server);
  return outbox;
}

export class Outbox extends EventTarget {
  #server = null;
  #sending = false;
  #timer = null;
  #wait = FIRST_WAIT;
  #turnedAway = false;
  #oneByOne = false;

  constructor(project) {
    super();
    this.storageKey = `bagtag.outbox.${project}`;
    this.nonce = crypto.randomUUID();
    this.number = 0;
    this.stored = 0;
    this.unsent = this.#load();
  }

  /** A page run brought a way in: whatever waited for one may go. */
  sendThrough(server) {
    this.#server = server;
    if (this.#turnedAway) {
      this.#turnedAway = false;
      this.#wait = FIRST_WAIT;
    }
    this.flush();
  }

  /** Queue one act; answers the edit, whose new segment (if it makes one) goes by `@number` until it has an id. */
  add(act, bag, annotator, seen) {
    this.number += 1;
    const edit = { nonce: this.nonce, number: this.number, bag, annotator, seen, act };
    this.unsent.push(edit);
    this.#save();
    this.#tell("change");
    this.flush();
    return edit;
  }

  get state() {
    if (this.unsent.length === 0) return "saved";
    return this.#turnedAway || this.#wait > FIRST_WAIT ? "offline" : "saving";
  }

  async flush() {
    if (this.#sending || this.#turnedAway || this.#timer !== null || this.unsent.length === 0) return;
    const batch = this.#nextBatch();
    this.#sending = true;
    try {
      this.#settle(batch, await this.#server.post(batch));
      this.#wait = FIRST_WAIT;
      this.#oneByOne = false;
    } catch (problem) {
      this.#putOff(problem, batch);
    } finally {
      this.#sending = false;
      this.#tell("change");
    }
    this.flush();
  }

  /** The first edits of one page load, as many as fit. */
  #nextBatch() {
    const batch = [];
    let bytes = 0;
    for (const edit of this.unsent) {
      bytes += JSON.stringify(edit).length;
      const full = batch.length === (this.#oneByOne ? 1 : MOST_AT_ONCE) || bytes > MOST_BYTES;
      if (batch.length && (full || edit.nonce !== batch[0].nonce)) break;
      batch.push(edit);
    }
    return batch;
  }

  #settle(batch, answer) {
    const results = new Map(answer.results.map((result) => [result.number, result]));
    const done = batch.filter((edit) => results.has(edit.number)).map((edit) => ({ edit, result: results.get(edit.number) }));
    if (done.length === 0) throw new Error("The server stored nothing of what was sent.");
    this.#forget(done, answer.revision);
  }

  #putOff(problem, batch) {
    if (problem instanceof Refused && problem.stranger) {
      this.#turnedAway = true;
    } else if (problem instanceof Refused && problem.status < 500) {
      this.#giveUp(batch, problem.message);
    } else {
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
      this.#timer = setTimeout(() => {
        this.#timer = null;
        this.flush();
      }, this.#wait * (0.75 + 0.5 * Math.random()));
    }
  }

  /** A batch the server cannot read: its edits go one by one, and only one that is refused alone is given up. */
  #giveUp(batch, sentence) {
    this.#oneByOne = true;
    if (batch.length > 1) return;
    this.#forget([{ edit: batch[0], result: { number: batch[0].number, error: sentence } }], null);
  }

  #forget(done, revision) {
    const settled = new Set(done.map(({ edit }) => edit));
    this.unsent = this.unsent.filter((edit) => !settled.has(edit));
    for (const { edit } of done) if (edit.nonce === this.nonce) this.stored = Math.max(this.stored, edit.number);
    this.#save();
    this.#tell("stored", { done, revision });
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #load() {
    try {
      const saved = JSON.parse(sessionStorage.getItem(this.storageKey));
      return Array.isArray(saved) ? saved : [];
    } catch {
      return [];
    }
  }

  #save() {
    try {
      sessionStorage.setItem(this.storageKey, JSON.stringify(this.unsent));
    } catch {
      // Storage full or switched off: the edits are still sent, they only do not survive a reload.
    }
  }
}
