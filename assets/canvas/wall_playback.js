/** Listening on the wall: the segment under the pointer or at the cursor, with a little of what is around it. */
import { AudioPlayer, speedFor } from "./audio_player.js";
import { loadValue, saveValue } from "./session_store.js";

const CONTEXT = 0.15; // seconds before and after a segment
const AUDIBLE = 22_050; // hertz; what is higher is played slowly

export class WallPlayback {
  #key;

  constructor(disposables, wall) {
    this.wall = wall;
    this.#key = `bagtag.wall.plays.${wall.data.project}`;
    this.on = loadValue(this.#key) ?? true;
    this.segment = null; // the one that plays
    this.player = new AudioPlayer(disposables, { onMove: () => {}, onChange: () => this.#changed(), onProblem: (sentence) => wall.notice.show(sentence) });
  }

  /** Play a segment, if the person wants to hear what is under the pointer. */
  listen(id) {
    if (this.on) this.play(id);
  }

  play(id) {
    const item = this.wall.list.items.get(id);
    if (this.wall.kind !== "sound" || !item) return;
    this.player.speed = speedFor(item.high > AUDIBLE ? 4 * item.high : 2 * AUDIBLE);
    const clip = ({ start, end, factor }) => this.wall.api.soundUrl(item.bag, { start: start.toFixed(4), end: end.toFixed(4), factor: String(factor) });
    this.player.play({ start: Math.max(0, item.left - CONTEXT), end: item.right + CONTEXT, clip });
    this.segment = id;
    this.wall.grid.refresh();
  }

  stop() {
    this.player.stop();
  }

  toggle() {
    this.on = !this.on;
    saveValue(this.#key, this.on);
    if (!this.on) this.stop();
    this.wall.refresh();
  }

  #changed() {
    if (this.player.playing) return;
    this.segment = null;
    this.wall.grid.refresh();
  }
}
