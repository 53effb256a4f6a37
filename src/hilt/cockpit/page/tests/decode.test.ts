import assert from "node:assert/strict";
import test from "node:test";
import { decode } from "../protocol";

function message(header: object, numbers: number[]): ArrayBuffer {
  let text = JSON.stringify(header);
  while ((4 + text.length) % 8) text += " ";
  const buffer = new ArrayBuffer(4 + text.length + 4 * numbers.length);
  const view = new DataView(buffer);
  view.setUint32(0, text.length, true);
  [...text].forEach((letter, i) => view.setUint8(4 + i, letter.charCodeAt(0)));
  numbers.forEach((number, i) => view.setFloat32(4 + text.length + 4 * i, number, true));
  return buffer;
}

test("a frame comes apart as it was put together", () => {
  const scene = Array.from({ length: 8 + 7 }, (_, i) => i);
  const plots = [0, 0.5, /* low a */ 1, 2, /* high a */ 3, 4, /* low b */ 5, 6, /* high b */ 7, 8];
  const header = { type: "frame", t: 12.5, nodes: 1, arrows: 1, plots: { names: ["a", "b"], n: 2, t0: 12 }, joystick: 7 };
  const frame = decode(message(header, [...scene, ...plots]));
  assert.equal(frame.type, "frame");
  if (frame.type !== "frame") return;
  assert.deepEqual([...frame.scene], scene);
  assert.equal(frame.header.joystick, 7);
  assert.equal(frame.samples.t0, 12);
  assert.deepEqual([...frame.samples.times], [0, 0.5]);
  assert.deepEqual(
    frame.samples.lows.map((low) => [...low]),
    [
      [1, 2],
      [5, 6],
    ],
  );
  assert.deepEqual(
    frame.samples.highs.map((high) => [...high]),
    [
      [3, 4],
      [7, 8],
    ],
  );
});

test("a range without rows is empty and no error", () => {
  const range = decode(message({ type: "range", id: 3, names: ["a"], n: 0, t0: 0, full: true }, []));
  assert.equal(range.type, "range");
  assert.equal(range.samples.times.length, 0);
});
