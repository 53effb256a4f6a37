// One plot: several signals of one unit, each as a band from minimum to maximum.

import uPlot from "uplot";
import { h, plain, prefixFor } from "../dom";
import type { PlotChoice } from "../protocol";
import { csvOf, download, svgOf } from "./export";

export interface Curve {
  signal: string; // name on the server
  label: string;
  colour: string;
}

export interface Columns {
  times: ArrayLike<number>;
  lows: ArrayLike<number | null>[];
  highs: ArrayLike<number | null>[];
}

const MARGIN = 0.08; // share of the range, above and below
const ROUNDING = 1e-9; // in the axis's unit: smaller numbers are rounding errors
const SLACK = 3; // how far beyond 1000 a value may go before the unit changes, so that it does not flicker

export class Plot {
  readonly element: HTMLElement;
  rows = 0;
  private chart: uPlot | null = null;
  private values: HTMLElement[] = [];
  private body = h("div.plot-body");
  private data: uPlot.AlignedData = [new Float64Array(0)];
  private mark = NaN;
  private span: [number, number] = [0, 0];
  private scale = { prefix: "", factor: 1 };
  private unit = h("small");

  constructor(
    readonly choice: PlotChoice,
    readonly curves: Curve[],
    private zoomed: (from: number, to: number) => void,
    reset: () => void,
    remove: () => void,
    private last: boolean, // only the lowest plot labels the time axis: all share it
  ) {
    const entries = curves.map((curve) => {
      const value = h("b.figure", {}, "–");
      this.values.push(value);
      return h(
        "span",
        { title: curve.signal },
        h("i.swatch.solid", { style: `--paint:${curve.colour}` }),
        curve.label,
        " ",
        value,
      );
    });
    this.tellUnit();
    this.element = h(
      "section.plot",
      { "aria-label": choice.title },
      h(
        "header",
        {},
        h("h3", { title: choice.title }, choice.title, this.unit),
        h("div.legend", {}, ...entries),
        h(
          "div.plot-do",
          {},
          ...(["svg", "csv"] as const).map((kind) =>
            h(
              "button.quiet",
              { title: `save this plot as ${kind.toUpperCase()}`, "aria-label": `${choice.title} as ${kind}`, onclick: () => this.save(kind) },
              kind,
            ),
          ),
          h("button.quiet", { title: "remove this plot", "aria-label": `remove plot ${choice.title}`, onclick: remove }, "×"),
        ),
      ),
      this.body,
    );
    this.body.addEventListener("dblclick", reset);
  }

  /** Draw these columns from `from` to `to`; `mark` is the time that the scene shows. */
  draw(columns: Columns, from: number, to: number, mark: number): void {
    this.rows = columns.times.length;
    this.mark = mark;
    this.span = [from, to];
    this.data = [columns.times, ...columns.lows.flatMap((low, i) => [low, columns.highs[i]!])] as unknown as uPlot.AlignedData;
    const width = this.body.clientWidth;
    const height = this.body.clientHeight;
    if (width < 40 || height < 40) return;
    this.chart ??= this.make(width, height);
    if (this.chart.width !== width || this.chart.height !== height) this.chart.setSize({ width, height });
    this.chart.batch(() => {
      this.chart!.setData(this.data, false);
      this.chart!.setScale("x", { min: from, max: Math.max(to, from + 1e-6) });
    });
    this.choosePrefix();
    this.tell();
  }

  /** Choose the prefix by the largest value on the axis. */
  private choosePrefix(): void {
    const { min, max } = this.chart!.scales.y!;
    const size = Math.max(Math.abs(min ?? 0), Math.abs(max ?? 0));
    const next = size === 1 && !this.rows ? this.scale : prefixFor(this.choice.unit, size);
    const shown = size / this.scale.factor;
    if (next.factor === this.scale.factor || (this.scale.prefix && shown > 1 / SLACK && shown < 1000 * SLACK)) return;
    this.scale = next;
    this.tellUnit();
    this.chart!.redraw(false, true);
  }

  private tellUnit(): void {
    const { unit } = this.choice;
    this.unit.textContent = unit && unit !== "1" ? ` [${this.scale.prefix}${unit}]` : "";
  }

  private save(kind: "svg" | "csv"): void {
    const { title, unit } = this.choice;
    const data = this.data as ArrayLike<number | null>[];
    const shown = { title, unit, curves: this.curves, data, from: this.span[0], to: this.span[1], scale: this.scale };
    if (kind === "svg") download(`${title}.svg`, "image/svg+xml", svgOf(shown));
    else download(`${title}.csv`, "text/csv", csvOf(shown));
  }

  dispose(): void {
    this.chart?.destroy();
    this.chart = null;
    this.element.remove();
  }

  private make(width: number, height: number): uPlot {
    const style = getComputedStyle(document.documentElement);
    const paint = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: paint("--muted"),
      font: "11px system-ui, sans-serif",
      grid: { stroke: paint("--line"), width: 1 },
      ticks: { stroke: paint("--line"), width: 1, size: 4 },
      gap: 3,
    };
    const series = this.curves.flatMap(({ colour }) => [
      { stroke: colour, width: 1, points: { show: false } },
      { stroke: colour, width: 1, points: { show: false } },
    ]);
    const bands = this.curves.map(({ colour }, i) => ({
      series: [2 * i + 2, 2 * i + 1] as [number, number],
      fill: `${colour}40`,
    }));
    return new uPlot(
      {
        width,
        height,
        legend: { show: false },
        scales: { x: { time: false }, y: { range: (_: uPlot, low: number | null, high: number | null) => roomy(low, high) } },
        axes: [
          {
            ...axis,
            size: this.last ? 22 : 6,
            space: 70,
            values: (_, ticks) => ticks.map((t) => (this.last && t !== null ? `${plain(t, 6)} s` : "")),
          },
          { ...axis, size: 52, space: 15, values: (_, ticks) => ticks.map((y) => (y === null ? "" : tick(y / this.scale.factor))) },
        ],
        series: [{}, ...series],
        bands,
        cursor: { sync: { key: "hilt" }, drag: { x: true, y: false, setScale: false }, points: { show: false } },
        hooks: {
          setSelect: [(u) => this.select(u)],
          setCursor: [() => this.tell()],
          draw: [(u) => this.drawMark(u, paint("--accent"))],
        },
      },
      this.data,
      this.body,
    );
  }

  private select(u: uPlot): void {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x");
    const to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.zoomed(from, to);
  }

  /** Show the values under the cursor, or the newest. */
  private tell(): void {
    const index = this.chart?.cursor.idx ?? this.indexOfMark();
    this.values.forEach((value, i) => {
      let k = index; // a row of another recording only: take this one's last
      while (k > 0 && this.data[2 * i + 1]?.[k] === undefined) k--;
      const low = this.data[2 * i + 1]?.[k] ?? NaN;
      const middle = (0.5 * (low + (this.data[2 * i + 2]?.[k] ?? NaN))) / this.scale.factor;
      const text = plain(Math.abs(middle) < ROUNDING ? 0 : middle, 4);
      if (value.textContent !== text) value.textContent = text;
    });
  }

  private indexOfMark(): number {
    const times = this.data[0];
    if (!Number.isFinite(this.mark)) return times.length - 1;
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle]! <= this.mark) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private drawMark(u: uPlot, paint: string): void {
    if (!Number.isFinite(this.mark)) return;
    const x = Math.round(u.valToPos(this.mark, "x", true));
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    u.ctx.save();
    u.ctx.fillStyle = paint;
    u.ctx.fillRect(x - 1, u.bbox.top, 2, u.bbox.height);
    u.ctx.restore();
  }
}

/** A range with a margin above and below; never empty, and noise of 1e-12 is not blown up. */
export function roomy(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [-1, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size < 1e-12) return [-1, 1];
  const least = 1e-6 * size;
  const room = Math.max(MARGIN * (high - low), high - low < least ? 0.1 * size : 0);
  return [low - room, high + room];
}

/** A short number for an axis: 0.02, 4500, 2e5, 1e−6. */
export function tick(value: number): string {
  const rounded = Number(value.toPrecision(6));
  const size = Math.abs(rounded);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? rounded.toExponential() : String(rounded);
  return text.replaceAll("-", "−").replace("+", "");
}
