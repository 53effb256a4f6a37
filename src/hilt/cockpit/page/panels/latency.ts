// How long the virtual arm takes to answer the hand, measured in the page: from the steer message to the frame that shows it.

import type { Frame, Scene } from "../protocol";

const KEPT = 500;
const STILL = 1e-6; // [m] of float32 noise and drift in a pose at rest
const REST = 5; // [frames] without motion before a first motion can be seen
const GIVEN_UP = 2000; // [ms]

export class Latency {
  echo: number[] = []; // [ms] until the loop had taken the input
  motion: number[] = []; // [ms] until the virtual arm had moved from rest
  private sent = new Map<number, number>();
  private virtual: number[] = [];
  private before: Float32Array | null = null;
  private pressed: { at: number; pose: Float32Array } | null = null;
  private active = false;
  private stillFrames = 0;

  /** The parts that must move at once: those of the virtual arm, or else all that is simulated. */
  watch(scene: Scene | null): void {
    const pick = (test: (node: Scene["nodes"][number]) => boolean) =>
      scene?.nodes.flatMap((node, i) => (test(node) ? [i] : [])) ?? [];
    const virtual = pick((node) => node.colour === "virtual" && node.style === "solid");
    this.virtual = virtual.length ? virtual : pick((node) => node.style === "solid");
    this.before = this.pressed = null;
    this.sent.clear();
  }

  steered(id: number, axes: number[]): void {
    const now = performance.now();
    const active = axes.some((value) => value !== 0);
    this.sent.set(id, now);
    if (this.sent.size > 200) this.sent.delete(this.sent.keys().next().value!);
    if (active && !this.active && this.before && this.stillFrames >= REST) this.pressed = { at: now, pose: this.before };
    this.active = active;
  }

  frame(frame: Frame): void {
    const now = performance.now();
    const taken = frame.header.joystick;
    if (taken !== null && this.sent.has(taken)) {
      for (const [id, at] of this.sent) {
        if (id > taken) break;
        keep(this.echo, now - at);
        this.sent.delete(id);
      }
    }
    const pose = this.places(frame.scene);
    if (this.pressed && now - this.pressed.at > GIVEN_UP) this.pressed = null;
    if (this.pressed && moved(this.pressed.pose, pose)) {
      keep(this.motion, now - this.pressed.at);
      this.pressed = null;
    }
    this.stillFrames = this.before && !moved(this.before, pose) ? this.stillFrames + 1 : 0;
    this.before = pose;
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

function moved(a: Float32Array, b: Float32Array): boolean {
  return a.some((value, i) => Math.abs(value - (b[i] ?? 0)) > STILL);
}
