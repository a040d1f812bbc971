/** What each layer of the canvas shows: the picture with its axes, the segments, and what moves with the pointer. */
import { paintAxes } from "./axes.js";
import { paintDensity } from "./overview.js";
import { paintDraft, paintMarks, paintPlayhead } from "./paint.js";
import { SegmentLayer } from "./segment_layer.js";

export class LayerPainter {
  constructor(editor) {
    this.editor = editor;
    this.segmentLayer = new SegmentLayer();
  }

  /** Forget what is on the layer of segments. */
  reset() {
    this.segmentLayer = new SegmentLayer();
  }

  base(ctx) {
    const { bag, backdrop, bagSync, layers, navigation, overview, theme, view } = this.editor;
    const { x, y, width, height } = view.plot;
    layers.clear(ctx);
    ctx.fillStyle = theme.raised;
    ctx.fillRect(x, y, width, height);
    if (bag === null) return;
    backdrop.paint(ctx);
    paintDensity(ctx, view, bag);
    paintAxes(ctx, view, theme);
    overview.paint();
    bagSync.loadRange(navigation.range);
  }

  segments(ctx) {
    const { bag, isQuiet, layers, theme, view } = this.editor;
    if (bag === null) return layers.clear(ctx);
    return this.segmentLayer.paint(ctx, view, bag, theme, isQuiet, [layers.width, layers.height, layers.ratio]);
  }

  overlay(ctx) {
    const { bag, hovered, layers, playback, selection, tools, view } = this.editor;
    layers.clear(ctx);
    if (bag === null) return;
    const under = hovered !== null && !selection.ids.includes(hovered) ? [selection.find(hovered)] : [];
    paintMarks(ctx, view, under.filter(Boolean), selection.segments, bag);
    if (tools.draft) paintDraft(ctx, view, tools.draft, tools.current !== "split");
    if (bag.kind === "sound") paintPlayhead(ctx, view, playback.player.position ?? playback.mark, playback.player.playing);
  }
}
