/**
 * Sound: any stretch of a bag, slowed down, in a band, in a loop.
 *
 * The server makes each clip. Slow playback is time expansion (the samples are played at a lower rate), which is what
 * makes bats audible and keeps their ultrasound: a browser would remove it.
 */
const LONGEST_PIECE = 30; // seconds of recording in one clip; longer stretches are played piece after piece

export const SPEEDS = [
  { factor: 1, name: "1×", description: "original speed" },
  { factor: 0.5, name: "½×", description: "half speed" },
  { factor: 0.25, name: "¼×", description: "quarter speed" },
  { factor: 0.1, name: "TE 10", description: "time expansion 10: ten times slower and lower" },
  { factor: 0.05, name: "TE 20", description: "time expansion 20: twenty times slower and lower" },
];
const ULTRASOUND = 96_000;

export function speedFor(rate) {
  return rate >= ULTRASOUND ? SPEEDS[3] : SPEEDS[0];
}

export class AudioPlayer {
  #audio = new Audio();
  #frame = 0;
  #job = null;

  constructor(disposables, { onMove, onChange, onProblem }) {
    this.onMove = onMove;
    this.onChange = onChange;
    this.onProblem = onProblem;
    this.loop = false;
    this.speed = SPEEDS[0];
    this.#audio.preservesPitch = false;
    disposables.listen(this.#audio, "ended", () => this.#pieceOver());
    disposables.listen(this.#audio, "error", () => this.#fail());
    disposables.atEnd(() => this.stop());
  }

  get playing() {
    return this.#job !== null;
  }

  /** Where in the recording the sound is, in seconds. */
  get position() {
    if (!this.#job) return null;
    return Math.min(this.#job.pieceStart + this.#audio.currentTime * this.#job.factor, this.#job.end);
  }

  /** Play from `start` to `end`; `band` is [low, high] in hertz; `clip` makes the address of a stretch of sound. */
  play({ start, end, band = null, from = start, clip }) {
    this.stop();
    this.#job = { start, end, band, clip, factor: this.speed.factor };
    this.#playPiece(Math.min(Math.max(from, start), end));
    this.onChange();
    this.#follow();
  }

  stop() {
    if (!this.#job) return;
    this.#job = null;
    cancelAnimationFrame(this.#frame);
    this.#audio.pause();
    this.#audio.removeAttribute("src");
    this.#audio.load();
    this.onChange();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.#goOn();
  }

  setLoop(loop) {
    this.loop = loop;
    if (this.#job) this.#audio.loop = this.#goesRound;
    this.onChange();
  }

  /** A stretch that fits into one clip goes round in the audio element itself, without a gap. */
  get #goesRound() {
    const { start, end, pieceStart, pieceEnd } = this.#job;
    return this.loop && pieceStart === start && pieceEnd === end;
  }

  /** Go on from the same place at the new speed. */
  #goOn() {
    if (this.#job) this.play({ ...this.#job, from: this.position });
    this.onChange();
  }

  #playPiece(from) {
    const { end, band, clip, factor } = this.#job;
    const to = Math.min(end, from + LONGEST_PIECE);
    this.#job.pieceStart = from;
    this.#job.pieceEnd = to;
    this.#audio.loop = this.#goesRound;
    this.#audio.src = clip({ start: from, end: to, factor, band });
    this.#audio.play().catch((problem) => {
      if (problem.name === "NotAllowedError") this.stop();
    });
  }

  #pieceOver() {
    if (!this.#job) return;
    if (this.#job.pieceEnd < this.#job.end - 1e-3) this.#playPiece(this.#job.pieceEnd);
    else if (this.loop) this.#playPiece(this.#job.start);
    else this.stop();
  }

  #fail() {
    if (!this.#job || !this.#audio.getAttribute("src")) return;
    this.stop();
    this.onProblem("This sound cannot be played: its file may have been moved, or is damaged.");
  }

  #follow() {
    this.#frame = requestAnimationFrame(() => {
      if (!this.#job) return;
      this.onMove(this.position);
      this.#follow();
    });
  }
}
