// The picture of a sweep: a curve over one axis, a map over two. Cells on a canvas; text and lines above it.

import { h, plain, svg } from "../dom";
import {
  type Axis,
  boundary,
  cellAt,
  cells,
  type Chart,
  colourOf,
  drawn,
  indexOf,
  isMap,
  type Point,
  rest,
  Scale,
  scaleOf,
  type Value,
} from "./chart";

const MARGIN = { left: 66, right: 18, top: 12, bottom: 46 };
const BAR = { room: 96, width: 16 }; // the colour scale
const LIGHT = ["#1f6fb2", "#2a9d5c", "#e07b00", "#00838f", "#a9803a", "#d6709b", "#7a8c1f"]; // as in all reports; no red
const DARK = ["#63aef2", "#62c98b", "#f5a04a", "#4fc3cc", "#d0ae6e", "#ee9dbf", "#b3c452"];
const LEAST = { width: 320, height: 220 };

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export class Drawing {
  readonly element: HTMLElement;
  point: Point = [];
  private canvas = h("canvas", { "aria-hidden": "true" });
  private over = svg("svg", { "aria-hidden": "true" });
  private marked = svg("g");
  private chart: Chart | null = null;
  private box: Box = { left: 0, top: 0, width: 1, height: 1 };
  private x = { edges: [0, 1], centres: [0.5] };
  private y = { edges: [0, 1], centres: [0.5] };
  private metric = new Scale(0, 1, false); // vertical scale of curves

  constructor(
    private dark: () => boolean,
    private chosen: (open: boolean) => void,
  ) {
    this.element = h(
      "div.map-picture",
      { tabindex: 0, role: "application", "data-testid": "map-picture", "aria-label": "chart; arrows choose a point, Enter opens its run" },
      this.canvas,
    );
    this.element.append(this.over);
    this.element.addEventListener("pointermove", (event) => this.look(event) && this.chosen(false));
    this.element.addEventListener("click", (event) => this.look(event) && this.chosen(true));
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(chart: Chart, point: Point): void {
    this.chart = chart;
    this.point = point;
    this.draw();
  }

  clear(): void {
    this.chart = null;
    this.over.replaceChildren();
    this.canvas.width = this.canvas.height = 0;
  }

  draw(): void {
    const { chart } = this;
    if (!chart || !this.element.clientWidth) return;
    const width = Math.max(LEAST.width, this.element.clientWidth);
    const height = Math.max(LEAST.height, this.element.clientHeight);
    const map = isMap(chart);
    const right = MARGIN.right + (map ? BAR.room : 0);
    this.box = { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - right, height: height - MARGIN.top - MARGIN.bottom };
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.over.setAttribute("width", String(width));
    this.over.setAttribute("height", String(height));
    const density = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [width * density, height * density];
    [this.canvas.style.width, this.canvas.style.height] = [`${width}px`, `${height}px`];
    this.over.replaceChildren(...(map ? this.map(chart, density) : this.curves(chart)), this.marked);
    this.mark();
  }

  // -- two axes --------------------------------------------------------------------------------------------------------

  private map(chart: Chart, density: number): SVGElement[] {
    const [first, second] = [chart.axes[0]!, chart.axes[1]!];
    const [across, up] = [cells(first), cells(second)];
    [this.x, this.y] = [across, up];
    const scale = scaleOf(chart, this.slab(chart), true);
    this.paint(chart, scale, density);
    const outline = svg("rect", { class: "frame", x: this.box.left, y: this.box.top, width: this.box.width, height: this.box.height });
    const edge = boundary(chart, this.point, across.edges, up.edges)
      .map(([a, b, c, d]) => `M${this.atX(a)} ${this.atY(b)}L${this.atX(c)} ${this.atY(d)}`)
      .join("");
    return [
      outline,
      ...(edge ? [svg("path", { class: "edge-under", d: edge }), svg("path", { class: "edge", d: edge })] : []),
      ...this.axisX(first, across.scale, across.centres),
      ...this.axisY(second.key, second.unit, up.scale, up.centres, second.values),
      ...this.bar(chart, scale),
      ...this.cross(first, second, across.scale, up.scale),
    ];
  }

  /** The values of the shown part of the cube. */
  private slab(chart: Chart): Value[] {
    const found: Value[] = [];
    for (let i = 0; i < chart.axes[0]!.values.length; i++)
      for (let j = 0; j < chart.axes[1]!.values.length; j++)
        found.push(chart.values[indexOf(chart, [i, j, ...this.point.slice(2)])] ?? false);
    return found;
  }

  private paint(chart: Chart, scale: Scale, density: number): void {
    const context = this.canvas.getContext("2d")!;
    const pixel = (place: number): number => Math.round(place * density); // whole pixels leave no seams
    const rows = chart.axes[1]!.values.length;
    this.slab(chart).forEach((value, n) => {
      if (value === false) return;
      const [i, j] = [Math.floor(n / rows), n % rows];
      const [left, right] = [pixel(this.atX(this.x.edges[i]!)), pixel(this.atX(this.x.edges[i + 1]!))];
      const [bottom, top] = [pixel(this.atY(this.y.edges[j]!)), pixel(this.atY(this.y.edges[j + 1]!))];
      context.fillStyle = value === null ? (this.dark() ? "#4a5361" : "#c9ced5") : colourOf(scale.at(drawn(chart, value)));
      context.fillRect(left, top, right - left, bottom - top);
    });
  }

  private bar(chart: Chart, scale: Scale): SVGElement[] {
    const { top, height } = this.box;
    const left = this.box.left + this.box.width + 18;
    const steps = Array.from({ length: 40 }, (_, n) =>
      svg("rect", { x: left, y: top + height * (1 - (n + 1) / 40), width: BAR.width, height: height / 40 + 0.5, fill: colourOf((n + 0.5) / 40) }),
    );
    const marks = scale.ticks().flatMap((tick) => {
      const y = top + height * (1 - scale.at(tick));
      return [
        svg("path", { class: "tick", d: `M${left + BAR.width} ${y}h4` }),
        svg("text", { x: left + BAR.width + 7, y: y + 4 }, plain(tick)),
      ];
    });
    const x = left + BAR.room - 22;
    const label = svg("text", { class: "label", "text-anchor": "middle", transform: `translate(${x} ${top + height / 2}) rotate(-90)` }, chart.label);
    return [...steps, ...marks, label];
  }

  private cross(first: Axis, second: Axis, across: Scale | null, up: Scale | null): SVGElement[] {
    if (typeof first.here !== "number" || typeof second.here !== "number" || !across || !up) return [];
    const [x, y] = [this.atX(across.at(first.here)), this.atY(up.at(second.here))];
    const d = `M${x - 6} ${y - 6}l12 12m0 -12l-12 12`;
    return [svg("path", { class: "cross-under", d }), svg("path", { class: "cross", d, "data-testid": "map-here" })];
  }

  // -- one axis --------------------------------------------------------------------------------------------------------

  private curves(chart: Chart): SVGElement[] {
    const axis = chart.axes[0]!;
    const across = cells(axis);
    const places = this.lines(chart);
    const all = places.flatMap((place) => [...this.along(chart, chart.values, place), ...this.along(chart, chart.low, place), ...this.along(chart, chart.high, place)]);
    const inner = scaleOf(chart, all, false);
    const pad = inner.log ? (inner.high / inner.low) ** 0.04 : 0.04 * (inner.high - inner.low);
    const scale = inner.log ? new Scale(inner.low / pad, inner.high * pad, true) : new Scale(inner.low - pad, inner.high + pad, false);
    this.x = across;
    this.metric = scale;
    const height = (value: number): number => this.atY(scale.at(drawn(chart, value)));
    const curves = places.flatMap((place, n) => this.curve(chart, place, this.colour(chart, n), across.centres, height, axis.dots || !across.scale));
    const here = this.here(axis, across.scale, across.centres);
    const grid = scale.ticks().map((tick) => svg("path", { class: "grid", d: `M${this.box.left} ${this.atY(scale.at(tick))}h${this.box.width}` }));
    const frame = svg("rect", { class: "frame", x: this.box.left, y: this.box.top, width: this.box.width, height: this.box.height });
    return [...grid, frame, ...here, ...curves, ...this.axisX(axis, across.scale, across.centres), ...this.axisY(chart.metric, chart.unit, scale, [], [])];
  }

  /** The first point of each line. */
  lines(chart: Chart): Point[] {
    const { lines } = rest(chart);
    if (lines === null) return [this.point];
    return chart.axes[lines]!.values.map((_, n) => this.point.map((place, axis) => (axis === lines ? n : place)));
  }

  /** The colour of a line: that of its word, or the nth. */
  colour(chart: Chart, n: number): string {
    const { lines } = rest(chart);
    const own = lines === null ? null : chart.axes[lines]!.colours?.[n];
    if (own) return own;
    const palette = this.dark() ? DARK : LIGHT;
    return palette[n % palette.length]!;
  }

  private along(chart: Chart, values: Value[] | undefined, place: Point): Value[] {
    if (!values) return [];
    return chart.axes[0]!.values.map((_, n) => values[indexOf(chart, [n, ...place.slice(1)])] ?? false);
  }

  private curve(chart: Chart, place: Point, colour: string, centres: number[], atY: (value: number) => number, dots: boolean): SVGElement[] {
    const values = this.along(chart, chart.values, place);
    const at = (value: Value, n: number): string | null => (typeof value === "number" ? `${this.atX(centres[n]!)} ${atY(value)}` : null);
    let path = "";
    values.forEach((value, n) => {
      const here = at(value, n);
      if (here) path += `${n && at(values[n - 1]!, n - 1) ? "L" : "M"}${here}`;
    });
    const [low, high] = [this.along(chart, chart.low, place), this.along(chart, chart.high, place)];
    const band = low.length
      ? [...high.map(at), ...low.map(at).reverse()].filter((each) => each !== null).join("L")
      : "";
    const few = dots || values.length < 60;
    return [
      ...(band ? [svg("path", { d: `M${band}Z`, fill: colour, opacity: 0.16 })] : []),
      ...(dots ? [] : [svg("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.6 })]),
      ...(few
        ? values.map((value, n) => (typeof value === "number" ? svg("circle", { cx: this.atX(centres[n]!), cy: atY(value), r: 2.6, fill: colour }) : null))
        : []
      ).filter((each): each is SVGElement => each !== null),
    ];
  }

  private here(axis: Axis, scale: Scale | null, centres: number[]): SVGElement[] {
    if (axis.here === null) return [];
    const place = scale ? scale.at(Number(axis.here)) : centres[axis.values.indexOf(axis.here)];
    if (place === undefined) return [];
    return [svg("path", { class: "here", d: `M${this.atX(place)} ${this.box.top}v${this.box.height}`, "data-testid": "map-here" })];
  }

  // -- axes ------------------------------------------------------------------------------------------------------------

  private axisX(axis: Axis, scale: Scale | null, centres: number[]): SVGElement[] {
    const { left, width, top, height } = this.box;
    const bottom = top + height;
    const ticks = scale
      ? scale.ticks().map((tick): [number, string] => [scale.at(tick), plain(tick)])
      : centres.map((place, n): [number, string] => [place, String(axis.values[n])]);
    const marks = ticks.flatMap(([place, text]) => [
      svg("path", { class: "tick", d: `M${this.atX(place)} ${bottom}v4` }),
      svg("text", { x: this.atX(place), y: bottom + 17, "text-anchor": "middle" }, text),
    ]);
    return [...marks, svg("text", { class: "label", x: left + width / 2, y: bottom + 37, "text-anchor": "middle" }, labelled(axis.key, axis.unit))];
  }

  private axisY(key: string, unit: string, scale: Scale | null, centres: number[], values: (number | string)[]): SVGElement[] {
    const { left, top, height } = this.box;
    const ticks = scale
      ? scale.ticks().map((tick): [number, string] => [scale.at(tick), plain(tick)])
      : centres.map((place, n): [number, string] => [place, String(values[n])]);
    const marks = ticks.flatMap(([place, text]) => [
      svg("path", { class: "tick", d: `M${left - 4} ${this.atY(place)}h4` }),
      svg("text", { x: left - 7, y: this.atY(place) + 4, "text-anchor": "end" }, text),
    ]);
    const label = svg("text", { class: "label", "text-anchor": "middle", transform: `translate(14 ${top + height / 2}) rotate(-90)` }, labelled(key, unit));
    return [...marks, label];
  }

  private atX(place: number): number {
    return Number((this.box.left + place * this.box.width).toFixed(2));
  }

  private atY(place: number): number {
    return Number((this.box.top + (1 - place) * this.box.height).toFixed(2));
  }

  // -- the chosen point ------------------------------------------------------------------------------------------------

  /** Choose the point under the pointer; false outside the picture. */
  private look(event: MouseEvent): boolean {
    const { chart, box } = this;
    if (!chart) return false;
    const around = this.element.getBoundingClientRect();
    const place = [(event.clientX - around.left - box.left) / box.width, 1 - (event.clientY - around.top - box.top) / box.height];
    if (place.some((each) => each < 0 || each > 1)) return false;
    this.point = [cellAt(this.x.edges, place[0]!), ...this.point.slice(1)];
    if (isMap(chart)) this.point[1] = cellAt(this.y.edges, place[1]!);
    else this.nearestLine(event.clientY - around.top);
    this.mark();
    return true;
  }

  /** Return the line nearest to the pointer. */
  private nearestLine(y: number): void {
    const { chart } = this;
    const lines = chart && rest(chart).lines;
    if (!chart || lines === null || lines === undefined) return;
    const far = this.lines(chart).map((place) => {
      const at = this.height(chart, [this.point[0]!, ...place.slice(1)]);
      return at === undefined ? Infinity : Math.abs(at - y);
    });
    this.point[lines] = Math.max(0, far.indexOf(Math.min(...far)));
  }

  /** The height of a curve's point, if it has a value. */
  private height(chart: Chart, point: Point): number | undefined {
    const value = chart.values[indexOf(chart, point)];
    return typeof value === "number" ? this.atY(this.metric.at(drawn(chart, value))) : undefined;
  }

  private key(event: KeyboardEvent): void {
    const { chart } = this;
    if (!chart) return;
    if (event.key === "Enter") return this.chosen(true);
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, 1], ArrowDown: [1, -1] }[event.key];
    if (!step) return;
    const axis = step[0] === 0 ? 0 : isMap(chart) ? 1 : rest(chart).lines;
    if (axis === null) return;
    event.preventDefault();
    const last = chart.axes[axis]!.values.length - 1;
    this.point = this.point.map((place, n) => (n === axis ? Math.min(Math.max(place + step[1]!, 0), last) : place));
    this.mark();
    this.chosen(false);
  }

  private mark(): void {
    const { chart, point } = this;
    if (!chart) return;
    if (isMap(chart)) {
      const [left, right] = [this.atX(this.x.edges[point[0]!]!), this.atX(this.x.edges[point[0]! + 1]!)];
      const [bottom, top] = [this.atY(this.y.edges[point[1]!]!), this.atY(this.y.edges[point[1]! + 1]!)];
      const place = { x: left, y: top, width: right - left, height: bottom - top };
      this.marked.replaceChildren(svg("rect", { class: "chosen-under", ...place }), svg("rect", { class: "chosen", ...place }));
      return;
    }
    const y = this.height(chart, point);
    const x = this.atX(this.x.centres[point[0]!]!);
    this.marked.replaceChildren(
      svg("path", { class: "chosen", d: `M${x} ${this.box.top}v${this.box.height}` }),
      ...(y === undefined ? [] : [svg("circle", { class: "chosen", cx: x, cy: y, r: 5 })]),
    );
  }
}

function labelled(key: string, unit: string): string {
  return unit ? `${key} [${unit}]` : key;
}
