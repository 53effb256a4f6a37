import assert from "node:assert/strict";
import test from "node:test";
import { LONGEST, Past } from "../panels/past";

test("a push is found at its clock time, however late the page's timers are", () => {
  const past = new Past();
  let held = 0;
  // Timers of 33 ms that come after 15 to 400 ms; the hand is pushed from 5 s to 6 s.
  for (let t = 1000; t < 1012; t += 0.015 + 0.385 * ((7 * held++) % 11) / 10) past.push(t, t >= 1005 && t < 1006 ? 0.7 : 0);
  assert.equal(past.at(1004.5), 0);
  assert.ok(past.at(1005.6) > 0.69);
  assert.equal(past.at(1006.5), 0);
  assert.equal(past.at(999), 0); // before the first push
});

test("a time before the start of the line gives 0", () => {
  const past = new Past();
  past.push(10, 1);
  past.push(10 + 2 * LONGEST, 0.5); // a page that was asleep
  assert.equal(past.at(10), 0);
  assert.equal(past.at(10 + 1.9 * LONGEST), 1); // nothing else was sent meanwhile
  assert.equal(past.at(10 + 2 * LONGEST), 0.5);
  assert.equal(past.at(11 + 2 * LONGEST), 0.5); // no push since
});
