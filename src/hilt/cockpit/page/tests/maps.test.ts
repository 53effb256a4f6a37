import assert from "node:assert/strict";
import test from "node:test";
import { type Axis, boundary, cellAt, cells, type Chart, colourOf, home, indexOf, isMap, numberOf, rest, Scale, scaleOf, describe } from "../maps/chart";

const axis = (key: string, values: (number | string)[], more: Partial<Axis> = {}): Axis => ({
  key,
  unit: "",
  log: false,
  dots: false,
  values,
  here: null,
  numbers: values.map((_, n) => n),
  ...more,
});
const delay = axis("robot.delay", [2, 8, 40], { unit: "ms", here: 20, numbers: [4, 0, 8] });
const stiffness = axis("contact.stiffness", [1, 10, 100, 1000], { log: true, here: 11, numbers: [0, 1, 2, 3] });
const method = axis("compensate.method", ["none", "pida"], { here: "pida", numbers: [0, 100] });
const chart = (axes: Axis[], more: Partial<Chart> = {}): Chart => ({
  title: "",
  label: "cov_error [%]",
  unit: "%",
  metric: "cov_error",
  axes,
  averaged: null,
  values: Array.from({ length: axes.reduce((n, { values }) => n * values.length, 1) }, (_, n) => n),
  diverged: null,
  ...more,
});

test("two axes of numbers are a map, one is a curve with a line for each word; of the other axes one value is picked", () => {
  assert.ok(isMap(chart([delay, stiffness, method])));
  assert.deepEqual(rest(chart([delay, stiffness, method])), { lines: null, picked: [2] });
  assert.ok(!isMap(chart([delay, method])));
  assert.deepEqual(rest(chart([delay, method])), { lines: 1, picked: [] });
  const many = axis("word", [..."abcdefgh"]);
  assert.deepEqual(rest(chart([delay, many])), { lines: null, picked: [1] });
  assert.ok(!isMap(chart([delay, axis("one", [5])]))); // a single value is no axis
});

test("a point has the number of its scenario and the place of its value", () => {
  const found = chart([delay, stiffness, method]);
  assert.equal(numberOf(found, [2, 3, 1]), 8 + 3 + 100);
  assert.equal(indexOf(found, [2, 3, 1]), 2 * 8 + 3 * 2 + 1);
  assert.equal(describe(found, [0, 1, 1]), "robot.delay = 2 ms, contact.stiffness = 10, compensate.method = pida: cov_error = 3 %");
  assert.match(describe({ ...found, averaged: { count: 20, what: "seeds" } }, [0, 1, 1]), /mean of 20 seeds$/);
  assert.match(describe({ ...found, values: found.values.map(() => false) }, [0, 0, 0]), /not computed yet$/);
  assert.match(describe({ ...found, values: found.values.map(() => null) }, [0, 0, 0]), /no cov_error$/);
  assert.match(describe({ ...found, values: found.values.map(() => 1e-14) }, [0, 0, 0]), /cov_error < 0.01 %$/);
});

test("the first point is the one nearest to the scenario, on the axis's own scale", () => {
  assert.deepEqual(home(chart([delay, stiffness, method])), [1, 1, 1]);
});

test("cells lie around their values, evenly spaced or in even ratios, and a place is found in its cell", () => {
  const straight = cells(axis("x", [1, 2, 4]));
  assert.deepEqual(straight.edges, [0, 1 / 4.5, 2.5 / 4.5, 1]);
  const bent = cells(stiffness);
  bent.edges.forEach((edge, n) => assert.ok(Math.abs(edge - n / 4) < 1e-12));
  assert.ok(Math.abs(bent.scale!.at(100) - bent.centres[2]!) < 1e-12);
  for (const [place, cell] of [[0, 0], [0.24, 0], [0.26, 1], [0.99, 3], [1, 3], [-1, 0]] as const) assert.equal(cellAt(bent.edges, place), cell);
  assert.deepEqual(cells(method).centres, [0.25, 0.75]);
});

test("a scale is logarithmic where values differ much, and ticks lie on it", () => {
  assert.deepEqual(new Scale(1, 100, true).ticks(), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(new Scale(1, 1e4, true).ticks(), [1, 10, 100, 1000, 10000]);
  assert.ok(!scaleOf(chart([delay]), [1, 2, 3], true).log);
  const wide = scaleOf(chart([delay], { metric: "x" }), [1, 2, 1000], false);
  assert.ok(wide.log);
  assert.deepEqual([wide.low, wide.high], [1, 1000]);
  const blown = scaleOf(chart([delay], { metric: "x" }), [...Array.from({ length: 99 }, (_, n) => n + 1), 1e9], true);
  assert.equal(blown.high, 98); // one run that blew up does not take up the whole scale
  assert.equal(scaleOf(chart([delay]), [1e-12, 5], false).low, 0.01);
});

test("colours grow lighter", () => {
  const light = (share: number): number => colourOf(share).match(/\d+/g)!.reduce((sum, each, n) => sum + Number(each) * [0.3, 0.6, 0.1][n]!, 0);
  for (let n = 0; n < 20; n++) assert.ok(light((n + 1) / 20) > light(n / 20));
});

test("the boundary runs between runs that diverge and runs that do not, and nowhere else", () => {
  const found = chart([axis("x", [0, 1, 2]), axis("y", [0, 1])], { diverged: [0, 0, 0, 1, false, 1] });
  const edges = [0, 1, 2, 3];
  assert.deepEqual(boundary(found, [0, 0], edges, [0, 1, 2]), [
    [1, 1, 1, 2],
    [1, 1, 2, 1],
  ]);
});
