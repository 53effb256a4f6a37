// A sweep as the server sends it, and what a picture needs from it: places, scales, colours. No elements here.

import { ticks } from "../plots/export";

export type Value = number | null | false; // null: this run has no such value; false: not computed yet

export interface Axis {
  key: string;
  unit: string;
  log: boolean;
  dots: boolean; // draws or seeds: points without connecting lines
  values: (number | string)[];
  here: number | string | null; // the scenario's value
  colours?: (string | null)[]; // of words with a fixed colour in all pictures, such as methods
  numbers: number[]; // what each place adds to the number of a scenario
}

export interface Chart {
  title: string;
  label: string;
  unit: string;
  metric: string;
  axes: Axis[];
  averaged: { count: number; what: string } | null;
  values: Value[]; // the last axis varies fastest
  low?: Value[];
  high?: Value[];
  diverged: Value[] | null; // share of the runs
}

/** One place on each axis. */
export type Point = number[];

export const LINES = 7;
export const FLOOR = 0.01; // [%] smaller errors are drawn as this
const OUTLIERS = 0.98; // a few runs that blew up must not take up the whole colour scale
const WIDE = 50; // largest over smallest above which a scale is logarithmic

const isNumeric = (axis: Axis | undefined): boolean => typeof axis?.values[0] === "number";

/** Whether it is a map over two axes, and not a curve over one. */
export function isMap({ axes }: Chart): boolean {
  return axes.slice(0, 2).filter((axis) => isNumeric(axis) && axis.values.length > 1).length === 2;
}

/** The axis whose values are drawn as lines, and the axes of which one value is picked. */
export function rest(chart: Chart): { lines: number | null; picked: number[] } {
  const others = chart.axes.map((_, n) => n).slice(isMap(chart) ? 2 : 1);
  const first = others[0];
  const lines = !isMap(chart) && first !== undefined && chart.axes[first]!.values.length <= LINES ? first : null;
  return { lines, picked: others.filter((n) => n !== lines) };
}

/** The point nearest to the scenario; the middle of an axis on which it has no value. */
export function home({ axes }: Chart): Point {
  return axes.map((axis) => (axis.here === null ? Math.floor((axis.values.length - 1) / 2) : nearest(axis, axis.here)));
}

export function nearest(axis: Axis, value: number | string): number {
  if (typeof value === "string") return Math.max(0, axis.values.indexOf(value));
  const far = axis.values.map((each) => Math.abs(placed(axis, Number(each)) - placed(axis, value)));
  return far.indexOf(Math.min(...far));
}

const placed = (axis: Axis, value: number): number => (axis.log && value > 0 ? Math.log(value) : value);

export function indexOf({ axes }: Chart, point: Point): number {
  return axes.reduce((index, axis, n) => index * axis.values.length + point[n]!, 0);
}

/** The number of the scenario; with several seeds, that of the first. */
export function numberOf({ axes }: Chart, point: Point): number {
  return axes.reduce((number, axis, n) => number + axis.numbers[point[n]!]!, 0);
}

const isError = ({ metric }: Chart): boolean => metric.endsWith("_error");

/** Whether a value is an error that is too small to matter. */
export const isFloored = (chart: Chart, value: Value | undefined): boolean => isError(chart) && typeof value === "number" && value < FLOOR;

/** A value as drawn. */
export const drawn = (chart: Chart, value: number): number => (isFloored(chart, value) ? FLOOR : value);

const short = (value: number | string): string => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value);

/** "robot.delay = 20 ms, contact.stiffness = 176 N/mm: cov_error = 12.3 %". */
export function describe(chart: Chart, point: Point): string {
  const places = chart.axes.map(({ key, unit, values }, n) => `${key} = ${short(values[point[n]!]!)}${unit && ` ${unit}`}`);
  const value = chart.values[indexOf(chart, point)];
  const means = chart.averaged ? `, mean of ${chart.averaged.count} ${chart.averaged.what}` : "";
  const figure = typeof value === "number" ? (isFloored(chart, value) ? `< ${FLOOR}` : `= ${Number(value.toPrecision(5))}`) : "";
  const word = figure
    ? `${chart.metric} ${figure}${chart.unit && ` ${chart.unit}`}${means}`
    : value === null
      ? `no ${chart.metric}`
      : "not computed yet";
  return `${places.join(", ")}: ${word}`;
}

/** From values to 0 … 1 and back, linear or logarithmic. */
export class Scale {
  readonly log: boolean;
  private from: number;
  private to: number;

  constructor(
    readonly low: number,
    readonly high: number,
    log: boolean,
  ) {
    this.log = log && low > 0;
    this.from = this.bent(low);
    this.to = this.bent(high);
  }

  private bent(value: number): number {
    return this.log ? Math.log(Math.max(value, Number.MIN_VALUE)) : value;
  }

  at(value: number): number {
    return this.to > this.from ? (this.bent(value) - this.from) / (this.to - this.from) : 0.5;
  }

  ticks(): number[] {
    if (!this.log) return ticks(this.low, this.high);
    const steps = this.high < 300 * this.low ? [1, 2, 5] : [1];
    const found: number[] = [];
    for (let power = Math.floor(Math.log10(this.low)); power <= Math.ceil(Math.log10(this.high)); power++)
      for (const step of steps) {
        const tick = Number((step * 10 ** power).toPrecision(6));
        if (tick >= this.low * (1 - 1e-9) && tick <= this.high * (1 + 1e-9)) found.push(tick);
      }
    return found.length > 1 ? found : [this.low, this.high];
  }
}

/** The scale of an axis, and on it the borders of the cells around its values: 0 … 1, one more than there are values. */
export function cells(axis: Axis): { scale: Scale | null; edges: number[]; centres: number[] } {
  const count = axis.values.length;
  if (!isNumeric(axis)) {
    const edges = Array.from({ length: count + 1 }, (_, n) => n / count);
    return { scale: null, edges, centres: axis.values.map((_, n) => (n + 0.5) / count) };
  }
  const values = axis.values.map(Number);
  const log = axis.log && values[0]! > 0;
  const at = values.map((value) => (log ? Math.log(value) : value));
  const half = (n: number): number => (count > 1 ? 0.5 * (at[Math.min(n + 1, count - 1)]! - at[Math.min(n, count - 2)]!) : 0.5);
  const bent = [at[0]! - half(0), ...at.slice(0, -1).map((value, n) => value + half(n)), at[count - 1]! + half(count - 2)];
  const back = (value: number): number => (log ? Math.exp(value) : value);
  const scale = new Scale(back(bent[0]!), back(bent[count]!), log);
  return { scale, edges: bent.map((value) => scale.at(back(value))), centres: values.map((value) => scale.at(value)) };
}

/** The cell that contains a place 0 … 1; outside, the nearest one. */
export function cellAt(edges: number[], place: number): number {
  const found = edges.findIndex((edge) => edge > place) - 1;
  return found < -1 ? edges.length - 2 : Math.min(Math.max(found, 0), edges.length - 2);
}

/** The scale of a metric's values; of a map without the few largest. */
export function scaleOf(chart: Chart, values: Value[], map: boolean): Scale {
  const there = values.filter((value): value is number => typeof value === "number").map((value) => drawn(chart, value));
  if (!there.length) return new Scale(0, 1, false);
  there.sort((a, b) => a - b);
  const low = there[0]!;
  let high = map ? there[Math.floor(OUTLIERS * (there.length - 1))]! : there[there.length - 1]!;
  if (map && isError(chart)) high = Math.max(Math.min(high, 1000), 1);
  const log = low > 0 && there[there.length - 1]! > WIDE * low;
  if (high > low) return new Scale(low, high, log);
  return new Scale(low, low + Math.max(Math.abs(low) * 0.1, 1e-12), false);
}

const VIRIDIS = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725".split(" ").map((colour) => parseInt(colour, 16));

/** A share 0 … 1 as a colour of growing lightness, safe in print and for the colour-blind. */
export function colourOf(share: number): string {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const [below, above] = [VIRIDIS[Math.floor(at)]!, VIRIDIS[Math.ceil(at)]!];
  const mixed = [16, 8, 0].map((shift) => {
    const [a, b] = [(below >> shift) & 255, (above >> shift) & 255];
    return Math.round(a + (b - a) * (at % 1));
  });
  return `rgb(${mixed.join(" ")})`;
}

/** Where on a map the loop starts to diverge: borders between cells, as [x0, y0, x1, y1] in places 0 … 1. */
export function boundary(chart: Chart, point: Point, x: number[], y: number[]): [number, number, number, number][] {
  const found: [number, number, number, number][] = [];
  if (!chart.diverged) return found;
  const beyond = (i: number, j: number): boolean | null => {
    const share = chart.diverged![indexOf(chart, [i, j, ...point.slice(2)])];
    return typeof share === "number" ? share >= 0.5 : null;
  };
  const differ = (a: boolean | null, b: boolean | null): boolean => a !== null && b !== null && a !== b;
  for (let i = 0; i < x.length - 1; i++)
    for (let j = 0; j < y.length - 1; j++) {
      if (i + 1 < x.length - 1 && differ(beyond(i, j), beyond(i + 1, j))) found.push([x[i + 1]!, y[j]!, x[i + 1]!, y[j + 1]!]);
      if (j + 1 < y.length - 1 && differ(beyond(i, j), beyond(i, j + 1))) found.push([x[i]!, y[j + 1]!, x[i + 1]!, y[j + 1]!]);
    }
  return found;
}
