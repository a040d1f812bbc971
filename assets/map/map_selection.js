/**
 * Reports which points of the map are selected: those inside a lasso, or one that was clicked, whatever the mouse is
 * for. Streamlit's own report has every property of every point (megabytes for a large lasso), draws the chart again
 * for it, and leaves out clicks while the lasso is in use (Streamlit 1.67, `PlotlyChart`: clickmode "event").
 */
const PLOT = ".st-key-map-body .js-plotly-plot";
const RING = 18; // pixels

const maps = new WeakMap(); // element of the component -> its map

export default function ({ parentElement, setStateValue }) {
  const map = maps.get(parentElement) ?? new SelectionReport();
  maps.set(parentElement, map);
  map.report = (segments) => setStateValue("segments", segments);
  map.start();
  return () => map.end();
}

class SelectionReport {
  #plot = null;
  #picked = null; // the point that was clicked last
  #ring = ring();
  #observer = new MutationObserver(() => this.#attach());
  #listeners = {
    plotly_selected: (event) => event && this.#select(event.points.map(segmentOf)),
    plotly_deselect: () => this.#select([]),
    plotly_click: (event) => this.#pick(event.points[0]),
    plotly_relayouting: () => this.#hideRing(),
    plotly_afterplot: () => this.#placeRing(),
  };

  /** Streamlit may draw the chart later, or again. */
  start() {
    this.#observer.observe(document.body, { childList: true, subtree: true });
    this.#attach();
  }

  end() {
    this.#observer.disconnect();
    this.#detach();
  }

  #attach() {
    const [event, listener] = Object.entries(this.#listeners)[0];
    if (this.#plot?.isConnected && this.#plot._ev?.listeners(event).includes(listener)) return;
    this.#detach();
    const plot = document.querySelector(PLOT);
    if (!plot?._fullLayout || !plot.on) return; // Plotly drops earlier listeners when it draws for the first time
    this.#plot = plot;
    for (const [name, act] of Object.entries(this.#listeners)) plot.on(name, act);
  }

  #detach() {
    this.#ring.remove();
    for (const [name, act] of Object.entries(this.#listeners)) this.#plot?.removeListener?.(name, act);
    this.#plot = null;
  }

  #select(segments) {
    this.#picked = null;
    this.#placeRing();
    this.report([...new Set(segments)]);
  }

  #pick(point) {
    if (!point) return;
    this.#picked = { x: point.x, y: point.y };
    this.#placeRing();
    this.report([segmentOf(point)]);
  }

  #hideRing() {
    this.#ring.hidden = true;
  }

  #placeRing() {
    const frame = this.#plot?.querySelector(".svg-container");
    const { xaxis, yaxis } = this.#plot?._fullLayout ?? {};
    if (!this.#picked || !frame || !xaxis) {
      this.#ring.remove();
      return;
    }
    const [x, y] = [xaxis.d2p(this.#picked.x), yaxis.d2p(this.#picked.y)];
    this.#ring.hidden = x < 0 || y < 0 || x > xaxis._length || y > yaxis._length;
    this.#ring.style.left = `${xaxis._offset + x - RING / 2}px`;
    this.#ring.style.top = `${yaxis._offset + y - RING / 2}px`;
    frame.append(this.#ring);
  }
}

function segmentOf(point) {
  return Array.isArray(point.customdata) ? point.customdata[0] : point.customdata;
}

/** A ring around the point that is shown beside the map. */
function ring() {
  const node = document.createElement("div");
  node.className = "bagtag-picked-point";
  const size = { width: `${RING}px`, height: `${RING}px` };
  Object.assign(node.style, size, { position: "absolute", boxSizing: "border-box", border: "2px solid currentColor", borderRadius: "50%", boxShadow: "0 0 0 1px rgb(128 128 128 / 60%)", pointerEvents: "none" });
  return node;
}
