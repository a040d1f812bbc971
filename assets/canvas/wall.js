/** The wall as a component of the page. */
import { mountAs } from "./mount.js";
import { Wall } from "./wall_view.js";

export const show = mountAs("wall", {
  className: "bagtag wall",
  make: (root) => new Wall(root),
  focusNode: (wall) => wall.grid.node,
});
