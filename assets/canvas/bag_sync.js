/**
 * The bag on screen: as last fetched from the server, with the edits it has not acknowledged applied on top.
 *
 * New predictions and the edits of other tabs are looked for every two seconds while the page is visible; they replace
 * the bag and move nothing. Of two responses the later revision wins.
 *
 * Of a long bag with many segments (`bag.range` is not null) only those around the view are here: `loadRange` fetches
 * others when the view moves, `loadSegment` those around a segment. Selected segments stay wherever the view goes.
 */
import { needsFetch, withEdits } from "./edits.js";

const POLL_EVERY = 2000;
const POLL_AFTER_EDIT = 900;
const FETCH_AGAIN = 60;
const RANGE_AGAIN = 1000; // milliseconds after a range could not be fetched
const MARGIN = { needed: 0.25, fetched: 0.75 }; // of the view's width, to either side
const MOST_ALSO = 100;

export class BagSync {
  #fetched = null; // the bag as last fetched
  #settled = []; // edits the server has stored, not yet part of the bag as fetched
  #turn = 0;
  #polling = false;
  #soon = null;
  #again = null;
  #asked = {}; // which segments of a long bag: { from, to } or { segment, span }
  #inView = null; // the range in view, in real units
  #loadingRange = false;
  #rangeAfter = 0;
  #rangeLater = null;

  constructor(disposables, api, outbox, { onBag, onProblem, onResult, onRevision, onNews, selected }) {
    Object.assign(this, { disposables, api, outbox, onBag, onProblem, onResult, onRevision, onNews, selected });
    this.id = null;
    this.preview = null;
    this.revision = 0;
    this.bag = null;
    this.renamed = new Map(); // segments drawn here, by the names they had before the server gave them ids
    disposables.listen(outbox, "stored", ({ detail }) => this.#onStored(detail));
    disposables.every(POLL_EVERY, () => this.#poll());
    disposables.listen(document, "visibilitychange", () => this.#poll());
    disposables.atEnd(() => [this.#soon, this.#again, this.#rangeLater].forEach(clearTimeout));
  }

  /** Show another bag (of a long one, the part with a segment): at once where it was fetched before, then as it is now. */
  async open([id, segment], preview = null) {
    this.id = id;
    this.preview = preview;
    this.#settled = [];
    this.#inView = null;
    const known = preview === null ? this.api.knownBag(id) : undefined;
    this.#fetched = known ?? null;
    const here = segment === null || known?.segments.some((s) => s.id === segment);
    this.#asked = here ? rangeOf(known) : { segment };
    if (known) this.compose();
    await this.fetch();
  }

  /** No bag is shown. */
  close() {
    this.#turn += 1;
    this.id = null;
    this.#fetched = null;
    this.bag = null;
  }

  /** Fetch the bag as it is now; errors are shown unless nobody waits for it. */
  async fetch({ quietly = false } = {}) {
    const turn = ++this.#turn;
    const { id, preview } = this;
    try {
      const bag = await (preview === null ? this.api.bag(id, this.#query()) : this.api.preview(preview));
      if (turn !== this.#turn || this.disposables.over) return;
      this.#take(bag);
    } catch (problem) {
      if (turn === this.#turn) this.#asked = rangeOf(this.#fetched);
      // Also a poll shows that the bag was removed: it may have replaced the request that a person waits for.
      if (turn === this.#turn && !this.disposables.over && (!quietly || problem.status === 410)) this.onProblem(problem);
      return false;
    }
    return true;
  }

  /** The view has moved: have the segments of this range (in real units) and of some of its surroundings. */
  async loadRange(range) {
    this.#inView = range;
    if (this.#loadingRange || this.#asked.segment || Date.now() < this.#rangeAfter || !this.#isMissing()) return;
    this.#loadingRange = true;
    this.#asked = this.#around(MARGIN.fetched);
    const fetched = await this.fetch({ quietly: true });
    this.#loadingRange = false;
    if (this.disposables.over || this.#inView === null) return;
    // Whatever was asked for meanwhile was not fetched, nor was this where another request has replaced it.
    if (fetched !== false) this.loadRange(this.#inView);
    else this.#loadRangeAgain();
  }

  #loadRangeAgain() {
    this.#rangeAfter = Date.now() + RANGE_AGAIN;
    clearTimeout(this.#rangeLater);
    this.#rangeLater = setTimeout(() => this.#inView && this.loadRange(this.#inView), RANGE_AGAIN);
  }

  /** The range in view with a share of its width to either side, inside the bag. */
  #around(share) {
    const { from, to } = this.#inView;
    const { left, right } = this.#fetched.extent;
    return { from: Math.max(left, from - share * (to - from)), to: Math.min(right, to + share * (to - from)) };
  }

  /** Are segments in view not loaded, or in less detail than they could be? */
  #isMissing() {
    const bag = this.#fetched;
    if (!bag?.range || this.preview !== null) return false;
    const { from, to } = this.#around(MARGIN.needed);
    const inside = bag.range.from <= from + 1e-6 && bag.range.to >= to - 1e-6;
    const width = this.#inView.to - this.#inView.from;
    const wide = bag.range.detail !== "outlines" && bag.range.to - bag.range.from > 5 * width;
    return !inside || wide;
  }

  /** Fetch the segments around one, `span` seconds to either side; resolves to whether it is there. */
  async loadSegment(segment, span) {
    const { id } = this;
    this.#asked = { segment, span };
    await this.fetch();
    return this.id === id && Boolean(this.bag?.segments.some((s) => s.id === segment));
  }

  #query() {
    const ids = this.#fetched?.range ? this.selected().filter((id) => typeof id === "number") : [];
    return { ...this.#asked, ...(ids.length ? { also: ids.slice(0, MOST_ALSO).join(",") } : {}) };
  }

  /** Apply the edits that are not acknowledged to the bag as fetched, and show it. */
  compose() {
    if (this.#fetched === null) return;
    const mine = this.outbox.unsent.filter((edit) => edit.bag === this.id);
    const edited = withEdits(this.#fetched, [...this.#settled.map(({ edit }) => edit), ...mine]);
    this.bag = { ...edited, classes: new Map(edited.classes.map((c) => [c.id, { ...c, keys: [] }])) };
    this.onBag(this.bag);
  }

  #take(bag) {
    if (this.#fetched?.id === bag.id && bag.revision < this.#fetched.revision) {
      this.#fetchSoon();
      return;
    }
    const renamed = this.#settled.filter(({ result }) => result.created?.length);
    this.#fetched = bag;
    this.#asked = rangeOf(bag);
    this.revision = Math.max(this.revision, bag.revision);
    this.#settled = this.#settled.filter(({ result }) => result.revision > bag.revision);
    this.renamed = new Map(renamed.map(({ edit, result }) => [`@${edit.number}`, result.created]));
    this.compose();
    if (this.#settled.some(({ edit }) => needsFetch(edit.act, Boolean(bag.range)))) this.#fetchSoon();
  }

  /** The response was made before the last edits were stored: fetch the bag again. */
  #fetchSoon() {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => this.fetch({ quietly: true }), FETCH_AGAIN);
  }

  #onStored({ done, revision }) {
    const here = done.filter(({ edit }) => edit.bag === this.id);
    for (const one of done) if (one.result.error || one.result.overtook?.length) this.onResult(one);
    const stored = here.filter(({ result }) => !result.error);
    for (const { edit, result } of done) {
      if (!result.error && !needsFetch(edit.act)) this.api.amendBag(edit.bag, (bag) => ({ ...withEdits(bag, [edit]), revision: Math.max(bag.revision, result.revision ?? 0) }));
    }
    this.#settled.push(...stored);
    const alone = revision !== null && revision === this.revision + done.filter(({ result }) => result.changed).length;
    if (alone) this.revision = revision;
    const partly = Boolean(this.#fetched?.range);
    const outdated = here.length > stored.length || stored.some(({ edit }) => needsFetch(edit.act, partly));
    if (stored.length && !outdated) this.#fold(stored, revision);
    else this.compose();
    if (outdated) this.fetch({ quietly: true });
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => this.#poll(), POLL_AFTER_EDIT);
  }

  /** What these edits did is fully known here: no need to fetch the bag for them. */
  #fold(stored, revision) {
    if (this.#fetched === null || this.#settled.length > stored.length) {
      this.compose();
      return;
    }
    const folded = withEdits(this.#fetched, stored.map(({ edit }) => edit));
    this.#fetched = { ...folded, revision: Math.max(folded.revision, revision ?? 0) };
    this.#settled = [];
    this.compose();
  }

  async #poll() {
    if (this.#polling || document.hidden || this.preview !== null || this.#fetched === null) return;
    this.#polling = true;
    try {
      const news = await this.api.news(this.revision);
      this.onRevision(news.revision);
      const concerns = news.bags.includes(this.id) || news.topics.length > 0;
      if (!concerns) this.revision = Math.max(this.revision, news.revision);
      else if (!this.disposables.over) {
        this.onNews();
        await this.fetch({ quietly: true });
      }
    } catch {
      // The outbox shows when the server cannot be reached; the next poll is in two seconds.
    } finally {
      this.#polling = false;
    }
  }
}

/** The range to ask for so that the same segments come again. */
function rangeOf(bag) {
  return bag?.range ? { from: bag.range.from, to: bag.range.to } : {};
}
