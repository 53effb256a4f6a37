import assert from "node:assert/strict";
import test from "node:test";
import { History } from "../history";

const samples = (from: number, count: number, names = ["a"]) => {
  const times = Float32Array.from({ length: count }, (_, i) => i);
  return {
    names,
    t0: from,
    times,
    lows: names.map(() => times.map((t) => from + t)),
    highs: names.map(() => times.map((t) => from + t + 0.5)),
  };
};

test("whatever is pushed, the newest rows are there, in order, with their values", () => {
  const history = new History(49.2); // a number of seconds times a rate need not be whole
  history.choose(["a"]);
  let next = 0;
  for (const count of [1, 30, 49, 7, 120, 3, 50, 64]) {
    history.push(samples(next, count));
    next += count;
    const { times, lows, highs } = history.last(1e9, ["a"]);
    assert.equal(times.length, Math.min(next, 50));
    times.forEach((t, i) => {
      assert.equal(t, next - times.length + i);
      assert.equal(lows[0]![i], t);
      assert.equal(highs[0]![i], t + 0.5);
    });
  }
});

test("a window holds the last seconds only", () => {
  const history = new History(100);
  history.choose(["a"]);
  history.push(samples(0, 80));
  assert.deepEqual([...history.last(3, ["a"]).times], [76, 77, 78, 79]);
});

test("rows that were there already are not taken twice", () => {
  const history = new History(100);
  history.choose(["a"]);
  history.push(samples(0, 10));
  history.push(samples(5, 10));
  assert.equal(history.length, 15);
});

test("a signal chosen later has no past, and one that stays keeps it", () => {
  const history = new History(100);
  history.choose(["a"]);
  history.push(samples(0, 5));
  history.choose(["a", "b"]);
  history.push(samples(5, 1, ["a", "b"]));
  const { lows } = history.last(100, ["a", "b"]);
  assert.deepEqual([...lows[0]!], [0, 1, 2, 3, 4, 5]);
  assert.deepEqual([...lows[1]!].map(Number.isNaN), [true, true, true, true, true, false]);
});
