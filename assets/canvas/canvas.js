/** The canvas as a component of the page. */
import { Editor } from "./editor.js";
import { mountAs } from "./mount.js";

export const show = mountAs("canvas", {
  className: "bagtag",
  make: (root) => new Editor(root),
  focusNode: (editor) => (editor.mode === "preview" ? null : editor.layers.node),
});
