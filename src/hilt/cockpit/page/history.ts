// The last minute of the plotted signals, in a fixed amount of memory.
//
// Each array is twice as long as what it keeps. Rows are appended; when the end is reached, the newer half moves to the front.
// So the kept rows are always contiguous and are shown without a copy.

import type { Samples } from "./protocol";

export class History {
  private times: Float64Array;
  private lows = new Map<string, Float32Array>();
  private highs = new Map<string, Float32Array>();
  private end = 0;

  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = Math.ceil(capacity);
    this.times = new Float64Array(2 * this.capacity);
  }

  get length(): number {
    return Math.min(this.end, this.capacity);
  }

  get lastTime(): number {
    return this.end > 0 ? this.times[this.end - 1]! : NaN;
  }

  /** Choose the signals. Those that stay keep their history; new ones start empty. */
  choose(names: string[]): void {
    const keep = (from: Map<string, Float32Array>) =>
      new Map(names.map((name) => [name, from.get(name) ?? new Float32Array(2 * this.capacity).fill(NaN)]));
    this.lows = keep(this.lows);
    this.highs = keep(this.highs);
  }

  clear(): void {
    this.end = 0;
  }

  push(samples: Samples): void {
    for (let k = 0; k < samples.times.length; k++) {
      const t = samples.t0 + samples.times[k]!;
      if (t <= this.lastTime) continue; // a bucket sent twice
      if (this.end === 2 * this.capacity) this.slide();
      this.times[this.end] = t;
      for (const [name, low] of this.lows) {
        const i = samples.names.indexOf(name);
        low[this.end] = i < 0 ? NaN : samples.lows[i]![k]!;
        this.highs.get(name)![this.end] = i < 0 ? NaN : samples.highs[i]![k]!;
      }
      this.end++;
    }
  }

  /** Times, minima and maxima of each name over the last `seconds`, as views that are valid until the next push. */
  last(seconds: number, names: string[]): { times: Float64Array; lows: Float32Array[]; highs: Float32Array[] } {
    const from = this.first(this.lastTime - seconds);
    const cut = (all: Map<string, Float32Array>, name: string) =>
      all.get(name)?.subarray(from, this.end) ?? new Float32Array(this.end - from).fill(NaN);
    return {
      times: this.times.subarray(from, this.end),
      lows: names.map((name) => cut(this.lows, name)),
      highs: names.map((name) => cut(this.highs, name)),
    };
  }

  private first(t: number): number {
    let low = this.end - this.length;
    let high = this.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle]! < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private slide(): void {
    const arrays = [this.times, ...this.lows.values(), ...this.highs.values()];
    for (const array of arrays) array.copyWithin(0, this.capacity);
    this.end = this.capacity;
  }
}
