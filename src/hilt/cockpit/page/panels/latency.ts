// How long the virtual arm takes to respond to the hand, measured in the page: from the steer message to the frame that shows it.
//
// A heavy arm is still coasting when the next push comes. It has responded when it leaves the parabola it was following.

import type { Frame, Scene } from "../protocol";

const KEPT = 500;
const SEEN = 1e-6; // [m] off the parabola: ten times its float32 noise
const STEP = 3; // [frames] between the three points of the parabola
const GIVEN_UP = 2000; // [ms]

interface Seen {
  t: number; // [s] time of the run
  places: Float32Array;
}

export class Latency {
  echo: number[] = []; // [ms] until the loop had received the input
  motion: number[] = []; // [ms] until the virtual arm had left its path
  private sent = new Map<number, number>();
  private virtual: number[] = [];
  private seen: Seen[] = []; // frames with the same input
  private pressed: { at: number; path: Seen[] } | null = null;
  private axes = "";
  private changed = 0; // the message with the latest axes
  private taken = 0; // the last message that the loop has received

  /** Watch the parts that must move at once: those of the virtual arm, or else all simulated ones. */
  watch(scene: Scene | null): void {
    const pick = (test: (node: Scene["nodes"][number]) => boolean) =>
      scene?.nodes.flatMap((node, i) => (test(node) ? [i] : [])) ?? [];
    const virtual = pick((node) => node.colour === "virtual" && node.style === "solid");
    this.virtual = virtual.length ? virtual : pick((node) => node.style === "solid");
    this.seen = [];
    this.pressed = null;
    this.sent.clear();
  }

  steered(id: number, axes: number[]): void {
    const now = performance.now();
    this.sent.set(id, now);
    if (this.sent.size > 200) this.sent.delete(this.sent.keys().next().value!);
    if (String(axes) === this.axes) return;
    const [a, b, c] = [this.seen.at(-1 - 2 * STEP), this.seen.at(-1 - STEP), this.seen.at(-1)];
    if (this.axes && a && b && c) this.pressed = { at: now, path: [a, b, c] };
    this.axes = String(axes);
    this.changed = id;
    this.seen = [];
  }

  /** The loop has received a message. */
  steeredBy(taken: number): void {
    this.taken = taken;
    const now = performance.now();
    for (const [id, at] of this.sent) {
      if (id > taken) break;
      keep(this.echo, now - at);
      this.sent.delete(id);
    }
  }

  frame(frame: Frame): void {
    const now = performance.now();
    const seen = { t: frame.header.t, places: this.places(frame.scene) };
    if (this.pressed && now - this.pressed.at > GIVEN_UP) this.pressed = null;
    if (this.pressed && leaves(this.pressed.path, seen)) {
      keep(this.motion, now - this.pressed.at);
      this.pressed = null;
    }
    if (this.taken < this.changed) return; // does not show this input yet
    if (seen.t <= (this.seen.at(-1)?.t ?? -1)) this.seen = []; // another run
    this.seen.push(seen);
    if (this.seen.length > 2 * STEP + 1) this.seen.shift();
  }

  private places(scene: Float32Array): Float32Array {
    const places = new Float32Array(3 * this.virtual.length);
    this.virtual.forEach((node, i) => places.set(scene.subarray(8 * node, 8 * node + 3), 3 * i));
    return places;
  }
}

export function percentile(samples: number[], share: number): number {
  if (!samples.length) return NaN;
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

function keep(samples: number[], value: number): void {
  samples.push(value);
  if (samples.length > KEPT) samples.shift();
}

/** Whether a place is off the parabola through three earlier ones. */
function leaves([a, b, c]: Seen[], now: Seen): boolean {
  const share = (of: Seen, one: Seen, other: Seen) =>
    ((now.t - one.t) * (now.t - other.t)) / ((of.t - one.t) * (of.t - other.t));
  const [wa, wb, wc] = [share(a!, b!, c!), share(b!, c!, a!), share(c!, a!, b!)];
  return now.places.some((x, i) => Math.abs(x - wa * a!.places[i]! - wb * b!.places[i]! - wc * c!.places[i]!) > SEEN);
}
