/** Listening to the bag on screen: its selected segments, or from a mark the person set. */
import { AudioPlayer, speedFor } from "./audio_player.js";

export class Playback {
  #bagId = null;
  #rate = null;

  constructor(editor) {
    this.editor = editor;
    this.mark = 0;
    this.player = new AudioPlayer(editor.disposables, {
      onMove: (position) => {
        editor.navigation.follow(position);
        editor.layers.refresh("overlay");
      },
      onChange: () => editor.refreshPanels("overlay"),
      onProblem: (sentence) => editor.notice.show(sentence),
    });
  }

  /** Another bag is on screen: stop, and use the speed that suits its sample rate. */
  openBag(bag) {
    if (bag.id === this.#bagId) return;
    this.#bagId = bag.id;
    this.player.stop();
    this.mark = bag.extent.left;
    if (bag.rate !== this.#rate) this.player.speed = speedFor(bag.rate);
    this.#rate = bag.rate;
  }

  toggle({ band = false } = {}) {
    if (this.player.playing) this.player.stop();
    else this.play({ band });
  }

  play({ band = false } = {}) {
    const { bag, api } = this.editor;
    if (bag?.kind !== "sound") return;
    const segments = this.editor.selection.segments;
    const stretch = segments.length ? this.#stretchOf(segments, band) : { start: this.#start, end: bag.extent.right };
    this.player.play({ ...stretch, clip: (piece) => api.soundUrl(bag.id, queryOf(piece)) });
  }

  /** The mark, or where the view begins when the mark is out of it. */
  get #start() {
    const { from, to } = this.editor.navigation.range;
    if (this.mark < from || this.mark >= to) this.mark = from;
    return this.mark;
  }

  #stretchOf(segments, band) {
    const { view } = this.editor;
    const boxes = segments.map((s) => s.shape.box);
    const corners = [
      view.toReal(Math.min(...boxes.map((b) => b.u0)), Math.min(...boxes.map((b) => b.v0))),
      view.toReal(Math.max(...boxes.map((b) => b.u1)), Math.max(...boxes.map((b) => b.v1))),
    ];
    return { start: corners[0].x, end: corners[1].x, band: band ? [corners[0].y, corners[1].y] : null };
  }
}

function queryOf({ start, end, factor, band }) {
  const query = { start: start.toFixed(4), end: end.toFixed(4), factor: String(factor) };
  if (band) Object.assign(query, { low: Math.max(0, band[0]).toFixed(0), high: band[1].toFixed(0) });
  return query;
}
