import assert from "node:assert/strict";
import test from "node:test";
import { prefixFor } from "../dom";
import { csvOf, type Shown, svgOf, ticks } from "../plots/export";
import { ofOne, ofSeveral } from "../plots/layouts";

const shown: Shown = {
  title: "tip & tail",
  unit: "m",
  curves: [
    { signal: "p.0", label: "x", colour: "#111111" },
    { signal: "p.1", label: "y", colour: "#222222" },
  ],
  data: [
    [0, 1, 2, 3],
    [0.001, 0.002, 0.003, 0.004],
    [0.001, 0.002, 0.003, 0.004],
    [1, 1, NaN, 1],
    [2, 1, NaN, 1],
  ],
  from: 0.5,
  to: 3,
  scale: { prefix: "m", factor: 1e-3 },
};

test("a table has what is shown, in SI, and two columns only where a row is a range", () => {
  assert.equal(csvOf(shown), '"t [s]","x p.0 [m]","y p.1 [m]"\n1,0.002,1\n2,0.003,\n3,0.004,1\n');
  const [head, first] = csvOf({ ...shown, from: 0 }).split("\n");
  assert.equal(head, '"t [s]","x p.0 [m]","y p.1 [m] min","y p.1 [m] max"');
  assert.equal(first, "0,0.001,1,2");
});

test("a picture has the unit of the axis, every curve, and no markup of a title", () => {
  const picture = svgOf(shown);
  assert.match(picture, /tip &#38; tail \[mm\]/);
  assert.equal(picture.match(/<polyline/g)!.length, 4);
  assert.ok(!/NaN/.test(picture));
  assert.deepEqual(ticks(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]);
});

test("units as people read them: a prefix for what takes one, and never for kilograms", () => {
  assert.deepEqual(prefixFor("m", 0.02), { prefix: "m", factor: 1e-3 });
  assert.deepEqual(prefixFor("N/m", 176275), { prefix: "k", factor: 1e3 });
  assert.deepEqual(prefixFor("s", 0.5), { prefix: "m", factor: 1e-3 });
  assert.deepEqual(prefixFor("N", 0), { prefix: "", factor: 1 });
  assert.deepEqual(prefixFor("kg·m²", 3684), { prefix: "", factor: 1 });
  assert.deepEqual(prefixFor("1", 1e-5), { prefix: "", factor: 1 });
});

test("a layout that was saved of three runs is one of one run, and back", () => {
  const one = [{ title: "tip", unit: "m", signals: ["p.0", "p.1"], labels: ["x", "y"] }];
  const three = ofSeveral(one, 3);
  assert.deepEqual(three[0]!.signals, ["1/p.0", "2/p.0", "3/p.0", "1/p.1", "2/p.1", "3/p.1"]);
  assert.deepEqual(ofOne(three), one);
  assert.deepEqual(ofSeveral(one, 1), one);
});
