/** The picture behind the segments of the bag on screen. */
export class Backdrop {
  #name = null;

  constructor(board) {
    this.board = board;
    this.image = null;
  }

  /** Take the picture that belongs to a bag: at once where it is known, else as soon as it comes. */
  async show({ id, image }) {
    const { lifetime, notice, server, stage } = this.board;
    const name = `${id}/${image}`;
    if (this.#name === name) return;
    this.#name = name;
    this.image = server.knownImage(id, image) ?? null;
    if (this.image) return;
    const stillWanted = () => this.#name === name && !lifetime.over;
    try {
      const bitmap = await server.image(id, image);
      if (!stillWanted()) return;
      this.image = bitmap;
      stage.refresh("base");
    } catch (problem) {
      if (!stillWanted()) return;
      this.#name = null;
      notice.stay(problem.message, () => this.#again());
    }
  }

  #again() {
    this.board.notice.hide();
    this.show(this.board.bag);
  }
}
