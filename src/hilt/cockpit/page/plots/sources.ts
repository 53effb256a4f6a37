// The sources of the plots' columns: the live history, or ranges of time requested from the server.

import uPlot from "uplot";
import type { Client } from "../client";
import { History } from "../history";
import type { Range, Samples } from "../protocol";
import type { Columns } from "./plot";

export const LIVE_WINDOW = 60; // [s]
const RATE = 60; // [buckets per second]
const POINTS = 2000;
const PATIENCE = 2000; // [ms] for an answer
const MOST_SIGNALS = 24; // per request

/** A buffer for the live run. */
export function liveHistory(): History {
  return new History(LIVE_WINDOW * RATE * 1.1);
}

/** A range of time at full resolution: requested once, kept until another range is requested. */
export class Detail {
  from = NaN;
  to = NaN;
  full = true; // every row is included, nothing was put into buckets
  private wanted = { from: NaN, to: NaN };
  private partial = false;
  private next: [string[], number, number] | null = null;
  private timer = 0;
  private requestedAt = 0;
  private waiting = new Map<number, Samples | null>();
  private merged = new Map<string, { low: ArrayLike<number | null>; high: ArrayLike<number | null> }>();
  private times: ArrayLike<number> = new Float64Array(0);

  constructor(
    private client: Client,
    private arrived: () => void,
  ) {
    client.on("range", (range) => this.take(range));
  }

  /** Whether there is something to show. */
  get shown(): boolean {
    return Number.isFinite(this.from);
  }

  private get ready(): boolean {
    return this.waiting.size > 0 && [...this.waiting.values()].every((samples) => samples !== null);
  }

  /** Request a range; while a request is pending, only the newest further one is kept waiting. */
  ask(names: string[], from: number, to: number): void {
    clearTimeout(this.timer);
    if (this.waiting.size && !this.ready && performance.now() - this.requestedAt < PATIENCE) {
      this.next = [names, from, to];
      this.timer = window.setTimeout(() => this.ask(names, from, to), PATIENCE);
      return;
    }
    this.next = null;
    this.requestedAt = performance.now();
    this.wanted = { from, to };
    this.waiting.clear();
    this.partial = false;
    for (let i = 0; i < names.length; i += MOST_SIGNALS) {
      this.waiting.set(
        this.client.ask({ type: "range", names: names.slice(i, i + MOST_SIGNALS), from, to, points: POINTS }),
        null,
      );
    }
  }

  forget(): void {
    this.from = this.to = NaN;
    this.next = null;
    clearTimeout(this.timer);
    this.waiting.clear();
    this.merged.clear();
  }

  columns(names: string[]): Columns {
    const none = new Float32Array(this.times.length).fill(NaN);
    const of = (name: string) => this.merged.get(name) ?? { low: none, high: none };
    return { times: this.times, lows: names.map((name) => of(name).low), highs: names.map((name) => of(name).high) };
  }

  private take(range: Range): void {
    if (!this.waiting.has(range.id)) return; // the answer to a request that has been replaced
    this.waiting.set(range.id, range.samples);
    this.partial ||= !range.full;
    if (!this.ready) return;
    this.merge([...this.waiting.values()] as Samples[]);
    ({ from: this.from, to: this.to } = this.wanted);
    this.full = !this.partial;
    this.arrived();
    if (this.next) this.ask(...this.next);
  }

  private merge(all: Samples[]): void {
    const tables = all.map(({ t0, times, lows, highs }) => {
      const absolute = Float64Array.from(times, (t) => t0 + t);
      return [absolute, ...lows.flatMap((low, i) => [some(low), some(highs[i]!)])] as unknown as uPlot.AlignedData;
    });
    const joined = tables.length === 1 ? tables[0]! : uPlot.join(tables);
    this.times = joined[0] as ArrayLike<number>;
    this.merged.clear();
    all
      .flatMap(({ names }) => names)
      .forEach((name, i) => {
        this.merged.set(name, { low: joined[2 * i + 1] as ArrayLike<number>, high: joined[2 * i + 2] as ArrayLike<number> });
      });
  }
}

/** NaN as undefined: a plot must not break where a recording has no row. */
function some(values: Float32Array): ArrayLike<number | null> {
  return values.some(Number.isNaN)
    ? Array.from(values, (value) => (Number.isNaN(value) ? (undefined as unknown as null) : value))
    : values;
}
