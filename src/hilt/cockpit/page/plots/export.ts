// Export a plot as shown: its numbers as CSV in SI units, or its picture as SVG.

import { plain } from "../dom";
import type { Curve } from "./plot";

export interface Shown {
  title: string;
  unit: string; // SI
  curves: Curve[];
  data: ArrayLike<number | null | undefined>[]; // times, then minimum and maximum of each curve
  from: number;
  to: number;
  scale: { prefix: string; factor: number }; // of the unit on the axis
}

/** One line per row; a curve has one column if each row is a single value, else minimum and maximum. */
export function csvOf({ unit, curves, data, from, to }: Shown): string {
  const times = data[0]!;
  const inside = Array.from(times, (_, k) => k).filter((k) => times[k]! >= from && times[k]! <= to);
  const columns: { head: string; values: ArrayLike<number | null | undefined> }[] = [{ head: "t [s]", values: times }];
  curves.forEach(({ label, signal }, i) => {
    const [low, high] = [data[2 * i + 1]!, data[2 * i + 2]!];
    const head = `${label} ${signal}${unit && unit !== "1" ? ` [${unit}]` : ""}`;
    if (inside.every((k) => low[k] === high[k] || (none(low[k]) && none(high[k])))) columns.push({ head, values: low });
    else columns.push({ head: `${head} min`, values: low }, { head: `${head} max`, values: high });
  });
  const lines = inside.map((k) => columns.map(({ values }) => (none(values[k]) ? "" : String(values[k]))).join(","));
  return [columns.map(({ head }) => quoted(head)).join(","), ...lines, ""].join("\n");
}

function none(value: number | null | undefined): boolean {
  return value === null || value === undefined || Number.isNaN(value);
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

const [WIDTH, HEIGHT] = [720, 360];
const BOX = { left: 64, top: 52, right: 12, bottom: 34 };

/** A standalone picture, dark on white, with axes and a legend: for a paper or a message. */
export function svgOf(shown: Shown): string {
  const { title, unit, curves, data, from, to, scale } = shown;
  const [low, high] = rangeOf(shown);
  const x = (t: number) => BOX.left + ((t - from) / (to - from || 1)) * (WIDTH - BOX.left - BOX.right);
  const y = (value: number) => HEIGHT - BOX.bottom - ((value - low) / (high - low)) * (HEIGHT - BOX.top - BOX.bottom);
  const times = data[0]!;
  const lines = curves.flatMap(({ colour }, i) =>
    [data[2 * i + 1]!, data[2 * i + 2]!].map((values) => {
      const points = Array.from(times, (t, k) => [t!, values[k]] as const).filter(([t, v]) => t >= from && t <= to && !none(v));
      const path = points.map(([t, v]) => `${x(t).toFixed(1)},${y(v!).toFixed(1)}`).join(" ");
      return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.2"/>`;
    }),
  );
  const across = ticks(from, to).map(
    (t) =>
      `<path d="M${x(t).toFixed(1)} ${BOX.top}V${HEIGHT - BOX.bottom}" stroke="#ddd"/>` +
      `<text x="${x(t).toFixed(1)}" y="${HEIGHT - BOX.bottom + 15}" text-anchor="middle">${plain(t, 6)}</text>`,
  );
  const up = ticks(low, high).map(
    (v) =>
      `<path d="M${BOX.left} ${y(v).toFixed(1)}H${WIDTH - BOX.right}" stroke="#ddd"/>` +
      `<text x="${BOX.left - 6}" y="${(y(v) + 4).toFixed(1)}" text-anchor="end">${plain(v / scale.factor, 6)}</text>`,
  );
  let at = BOX.left;
  const legend = curves.map(({ label, colour }) => {
    const entry = `<rect x="${at}" y="34" width="10" height="10" fill="${colour}"/><text x="${at + 14}" y="43">${escaped(label)}</text>`;
    at += 30 + 7 * label.length;
    return entry;
  });
  const shownUnit = unit && unit !== "1" ? ` [${scale.prefix}${unit}]` : "";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.max(WIDTH, at)} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${BOX.left}" y="20" font-size="14" font-weight="bold">${escaped(title + shownUnit)}</text>`,
    ...legend,
    ...across,
    ...up,
    ...lines,
    `<text x="${WIDTH - BOX.right}" y="${HEIGHT - 6}" text-anchor="end">t [s]</text>`,
    "</svg>",
  ].join("\n");
}

function rangeOf({ data, curves, from, to }: Shown): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  curves.forEach((_, i) => {
    for (const values of [data[2 * i + 1]!, data[2 * i + 2]!])
      Array.from(data[0]!, (t, k) => {
        const value = values[k];
        if (t! < from || t! > to || none(value)) return;
        [low, high] = [Math.min(low, value!), Math.max(high, value!)];
      });
  });
  if (low > high) return [-1, 1];
  const room = 0.06 * (high - low) || Math.abs(high) || 1;
  return [low - room, high + room];
}

/** About five round numbers between two values. */
export function ticks(from: number, to: number): number[] {
  const rough = (to - from) / 5;
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough)!;
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Offer a file for download. */
export function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
