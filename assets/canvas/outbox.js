/**
 * Edits that are being sent to the project.
 *
 * Every edit carries the nonce of the page load that made it and a number, so that the server can tell a repeat from
 * a new edit. A page load takes a new nonce even when session storage was copied (a duplicated tab): only what is
 * still unsent keeps its old one. Edits are sent in order, one POST at a time, and are deleted only when the server confirms
 * that they are stored, or why they never will be. A segment drawn a moment ago is named "@number of its edit".
 *
 * While the server cannot be reached, is busy or cannot write (no response, 502 to 504), everything waits and is tried again with
 * growing pauses. An edit that the server fails at by a fault of its own is tried a few times, one that it cannot read
 * once; then that edit and what depends on it is set aside: kept, shown, and the others go on.
 *
 * An edit that the server asks to confirm becomes a question, which is kept until somebody answers it, on whatever page
 * and whichever bag is on screen, or until a later edit of the same bag replaces it.
 */
import { ApiError } from "./api.js";
import { dependentEdits } from "./dependent_edits.js";

const MOST_AT_ONCE = 50;
const MOST_BYTES = 48_000; // a browser lets 64 kB of requests outlive their page
const FIRST_WAIT = 400;
const LONGEST_WAIT = 10_000;
const MOST_TRIES = 4;
const UNREADABLE = [400, 413, 414, 415, 422];
const AWAY = [502, 503, 504];
const outboxes = new Map();

/** The one outbox a project has in this page load; it goes on sending while no canvas is shown. */
export function outboxFor(project, api) {
  if (!outboxes.has(project)) outboxes.set(project, new Outbox(project));
  const outbox = outboxes.get(project);
  outbox.sendThrough(api);
  return outbox;
}

export class Outbox extends EventTarget {
  #api = null;
  #sending = false;
  #timer = null;
  #wait = FIRST_WAIT;
  #unauthorized = false;
  #oneByOne = false;
  #tries = new Map(); // edit -> how often the server failed at it

  constructor(project) {
    super();
    this.storageKey = `bagtag.outbox.${project}`;
    this.asideKey = `bagtag.set-aside.${project}`;
    this.questionsKey = `bagtag.questions.${project}`;
    this.nonce = newNonce();
    this.number = 0;
    this.stored = 0;
    this.problem = ""; // the server's sentence about why edits wait
    this.survives = true; // false while session storage does not take what waits here
    this.unsent = load(this.storageKey).filter(isEdit);
    this.aside = load(this.asideKey).filter((one) => Array.isArray(one?.edits) && one.edits.length && one.edits.every(isEdit));
    this.questions = load(this.questionsKey).filter((one) => isEdit(one?.edit) && typeof one.sentence === "string"); // with the confirmed edit
  }

  /** A page run brought a token: send what waited for one. */
  sendThrough(api) {
    this.#api = api;
    if (this.#unauthorized) {
      this.#unauthorized = false;
      this.#wait = FIRST_WAIT;
    }
    this.flush();
  }

  /** Queue one act; returns the edit, whose new segment (if it makes one) goes by `@number` until it has an id. */
  add(act, bag, annotator, seen) {
    this.number += 1;
    const edit = { nonce: this.nonce, number: this.number, bag, annotator, seen, act };
    this.unsent.push(edit);
    this.questions = this.questions.filter((one) => !replaces(edit, one.edit));
    this.#save();
    this.#dispatch("change");
    this.flush();
    return edit;
  }

  get state() {
    if (this.unsent.length === 0) return "saved";
    return this.#unauthorized || this.#wait > FIRST_WAIT ? "offline" : "saving";
  }

  /** Queue edits again that were set aside, behind those that wait. */
  tryAgain(item) {
    this.unsent.push(...item.edits);
    this.discard(item);
    this.flush();
  }

  /** Drop edits that were set aside. */
  discard(item) {
    this.aside = this.aside.filter((other) => other !== item);
    this.#save();
    this.#dispatch("change");
  }

  /** Queue the edit that a question is about, confirmed, or drop it. */
  answer(question, agrees) {
    if (!this.questions.includes(question)) return;
    this.questions = this.questions.filter((other) => other !== question);
    if (agrees) this.unsent.push(question.edit);
    this.#save();
    this.#dispatch("change");
    this.flush();
  }

  async flush() {
    if (this.#sending || this.#unauthorized || this.#timer !== null || this.unsent.length === 0) return;
    const batch = this.#nextBatch();
    this.#sending = true;
    try {
      this.#settle(batch, await this.#api.post(batch));
    } catch (problem) {
      this.#putOff(problem, batch);
    } finally {
      this.#sending = false;
      this.#dispatch("change");
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

  #settle(batch, response) {
    const results = new Map(response.results.map((result) => [result.number, result]));
    const settled = batch.filter((edit) => results.has(edit.number)).map((edit) => ({ edit, result: results.get(edit.number) }));
    const done = settled.filter(({ result }) => !result.failed);
    const failed = settled.find(({ result }) => result.failed);
    if (done.length) {
      this.#goOn();
      this.#oneByOne = false;
      this.#forget(done, response.revision);
    }
    if (failed) this.#fail(failed.edit, failed.result.error);
    else if (done.length === 0) this.#fail(batch[0], "The server returned no result for it.");
  }

  #putOff(problem, batch) {
    const status = problem instanceof ApiError ? problem.status : null;
    const unreadable = UNREADABLE.includes(status);
    const fault = status >= 500 && !AWAY.includes(status);
    if (problem instanceof ApiError && problem.unauthorized) this.#unauthorized = true;
    else if ((unreadable || fault) && batch.length > 1) this.#oneByOne = true;
    else if (unreadable) this.#setAside(batch[0], problem.message);
    else if (fault) this.#fail(batch[0], problem.message);
    else this.#pause(status === null ? "" : problem.message);
  }

  /** The server failed at this edit: try it again a few times, then go on without it. */
  #fail(edit, sentence) {
    const tries = (this.#tries.get(edit) ?? 0) + 1;
    this.#tries.set(edit, tries);
    if (tries < MOST_TRIES) this.#pause(sentence);
    else this.#setAside(edit, sentence);
  }

  #pause(sentence) {
    this.problem = sentence;
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.flush();
    }, this.#wait * (0.75 + 0.5 * Math.random()));
  }

  #goOn() {
    this.problem = "";
    this.#wait = FIRST_WAIT;
  }

  #setAside(edit, sentence) {
    const { kept, gone } = dependentEdits(edit, this.unsent);
    for (const one of [...kept, ...gone]) this.#tries.delete(one);
    if (kept.length) this.aside.push({ edits: kept, sentence });
    this.#goOn();
    const result = { error: sentence, setAside: true };
    this.#forget([...kept, ...gone].map((one) => ({ edit: one, result: { ...result, number: one.number } })), null);
  }

  #forget(done, revision) {
    const settled = new Set(done.map(({ edit }) => edit));
    this.unsent = this.unsent.filter((edit) => !settled.has(edit));
    for (const { edit } of done) if (edit.nonce === this.nonce) this.stored = Math.max(this.stored, edit.number);
    const asked = done.map((one) => (one.result.confirm ? { ...one, question: this.#ask(one) } : one));
    this.#save();
    this.#dispatch("stored", { done: asked, revision });
  }

  /** Keep a question about an edit, with the same edit of the same bag and annotator, confirmed; null if that cannot be. */
  #ask({ edit, result }) {
    const isForeign = edit.nonce !== this.nonce && typeof edit.act.class === "string"; // "@7" of another page load
    if (isForeign) return null;
    this.number += 1;
    const confirmed = { ...edit, nonce: this.nonce, number: this.number, act: { ...edit.act, confirm: true } };
    const question = { edit: confirmed, sentence: result.error };
    this.questions = [...this.questions.filter((one) => !replaces(edit, one.edit)), question];
    return question;
  }

  #dispatch(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** Storage may be full or switched off: the edits are still sent, and a message asks not to leave before. */
  #save() {
    const saved = [save(this.storageKey, this.unsent), save(this.asideKey, this.aside), save(this.questionsKey, this.questions)];
    this.survives = saved.every(Boolean);
  }
}

/** 32 random digits; `crypto.randomUUID` does not exist where a page comes by http from another computer. */
function newNonce() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Has the person decided with this edit what a question about another edit asks? */
function replaces({ bag, act }, asked) {
  if (bag !== asked.bag) return false;
  if (asked.act.act === "nothing_here") return ["finish", "nothing_here", "tag", "tag_by_name", "unfinish"].includes(act.act);
  return act.act === "nothing_here" || (act.act === asked.act.act && act.class === asked.act.class);
}

function isEdit(value) {
  return typeof value?.nonce === "string" && Number.isInteger(value.number) && typeof value.act?.act === "string";
}

function load(key) {
  try {
    const saved = JSON.parse(sessionStorage.getItem(key));
    return Array.isArray(saved) ? saved : [];
  } catch {
    return [];
  }
}

function save(key, list) {
  try {
    if (list.length) sessionStorage.setItem(key, JSON.stringify(list));
    else sessionStorage.removeItem(key);
    return true;
  } catch {
    return list.length === 0;
  }
}
