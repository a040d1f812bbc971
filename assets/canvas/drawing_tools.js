/** The tool in use (select, box, lasso, redraw, split), and what is being drawn with it. */
export class DrawingTools {
  constructor(editor) {
    this.editor = editor;
    this.current = "select";
    this.draft = null; // the points drawn so far, in pixels
  }

  use(tool) {
    this.current = tool;
    this.editor.layers.node.dataset.tool = tool;
    this.setDraft(null);
    this.editor.refreshPanels("overlay");
  }

  toggle(tool) {
    const needsOne = tool === "redraw" || tool === "split";
    if (needsOne && this.current !== tool && this.editor.selection.ids.length !== 1) {
      this.editor.notice.show("Select the one segment to change first.");
      return;
    }
    this.use(this.current === tool ? "select" : tool);
  }

  /** From selecting to boxes, to the lasso, and back. */
  nextToDraw() {
    this.use({ box: "lasso", lasso: "select" }[this.current] ?? "box");
  }

  setDraft(points) {
    this.draft = points;
    this.editor.layers.refresh("overlay");
  }
}
