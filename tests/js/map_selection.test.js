import draw from "/assets/map_selection.js";
import { equal, test } from "/tests/check.js";

const AXIS = { d2p: (value) => 100 * value, _offset: 10, _length: 100 };
const PICKED = ".bagtag-picked-point";

/** A page with the component and, once `show` is called, a chart that behaves like one of Plotly. */
function page() {
  const reported = [];
  const body = document.createElement("div");
  body.className = "st-key-map-body";
  document.body.append(body);
  const end = draw({ parentElement: document.createElement("div"), setStateValue: (name, value) => reported.push([name, value]) });
  const show = () => {
    const listeners = new Map();
    const plot = document.createElement("div");
    plot.className = "js-plotly-plot";
    plot.innerHTML = '<div class="svg-container"></div>';
    Object.assign(plot, {
      _fullLayout: { xaxis: AXIS, yaxis: AXIS },
      _ev: { listeners: (name) => listeners.get(name) ?? [] },
      on: (name, act) => listeners.set(name, [...(listeners.get(name) ?? []), act]),
      removeListener: (name, act) => listeners.set(name, listeners.get(name).filter((one) => one !== act)),
      emit: (name, event) => listeners.get(name)?.forEach((act) => act(event)),
    });
    body.replaceChildren(plot);
    return plot;
  };
  return { body, reported, show, end: () => { end(); body.remove(); } };
}

const drawn = () => new Promise((done) => setTimeout(done)); // observers of the page are called before

test("the segments inside a lasso are reported, each once, and nothing else of them", async () => {
  const { reported, show, end } = page();
  const plot = show();
  await drawn();
  plot.emit("plotly_selected", { points: [{ customdata: 7, x: 0, y: 0 }, { customdata: [9] }, { customdata: 7 }] });
  plot.emit("plotly_selected", undefined);
  equal(reported, [["segments", [7, 9]]]);
  plot.emit("plotly_deselect");
  equal(reported.at(-1), ["segments", []]);
  end();
});

test("a click reports a point and draws a ring around it, which goes with a lasso", async () => {
  const { reported, show, end } = page();
  const plot = show();
  await drawn();
  plot.emit("plotly_click", { points: [{ customdata: 4, x: 0.5, y: 0.25 }] });
  equal(reported, [["segments", [4]]]);
  const ring = plot.querySelector(PICKED);
  equal([ring.style.left, ring.style.top], ["51px", "26px"]);
  plot.emit("plotly_relayouting");
  equal(ring.hidden, true);
  plot.emit("plotly_afterplot");
  equal(ring.hidden, false);
  plot.emit("plotly_selected", { points: [{ customdata: 5 }] });
  equal(plot.querySelector(PICKED), null);
  end();
});

test("a chart that is drawn later, or again, is listened to; at the end none is", async () => {
  const { reported, show, end } = page();
  show();
  await drawn();
  const second = show();
  await drawn();
  second.emit("plotly_click", { points: [{ customdata: 1, x: 0, y: 0 }] });
  equal(reported.length, 1);
  end();
  second.emit("plotly_click", { points: [{ customdata: 2, x: 0, y: 0 }] });
  equal(reported.length, 1);
});
