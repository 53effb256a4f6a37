// Saved layouts: plots and views by name, for one system, in this browser.

import type { PlotChoice } from "../protocol";

export interface Layout {
  name: string;
  plots: PlotChoice[]; // signals named as for a single run
  views: number[]; // viewpoint of each view
  large: number; // the view that fills the scene, or -1
}

const MOST = 30;

function place(system: string): string {
  return `hilt-layouts-${system}`;
}

/** The layouts saved for a system; unreadable ones are ignored. */
export function saved(system: string): Layout[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(place(system)) ?? "[]");
    return Array.isArray(found) ? found.filter(isLayout) : [];
  } catch {
    return [];
  }
}

/** Save a layout; one of the same name is replaced. */
export function save(system: string, layout: Layout): void {
  write(system, [...saved(system).filter(({ name }) => name !== layout.name), layout].slice(-MOST));
}

export function remove(system: string, name: string): void {
  write(
    system,
    saved(system).filter((each) => each.name !== name),
  );
}

function write(system: string, all: Layout[]): void {
  try {
    localStorage.setItem(place(system), JSON.stringify(all));
  } catch {
    // A browser without storage saves nothing.
  }
}

function isLayout(found: unknown): found is Layout {
  const { name, plots, views } = (found ?? {}) as Partial<Layout>;
  return typeof name === "string" && Array.isArray(views) && Array.isArray(plots) && plots.every((plot) => Array.isArray(plot?.signals));
}

/** Plots of several runs as those of one: each signal once. */
export function ofOne(plots: PlotChoice[]): PlotChoice[] {
  return plots.map(({ title, unit, signals, labels }) => {
    const first = signals.map((name, i) => [name, labels[i] ?? name] as const).filter(([name]) => !/^[2-9]\//.test(name));
    return {
      title,
      unit,
      signals: first.map(([name]) => name.replace(/^1\//, "")),
      labels: first.map(([, label]) => label.replace(/ · [^·]*$/, "")),
    };
  });
}

/** The reverse: each signal for each of several runs; for one run they stay as they are. */
export function ofSeveral(plots: PlotChoice[], runs: number): PlotChoice[] {
  if (runs < 2) return structuredClone(plots);
  const each = Array.from({ length: runs }, (_, i) => `${i + 1}/`);
  return plots.map(({ title, unit, signals, labels }) => ({
    title,
    unit,
    signals: signals.flatMap((name) => each.map((prefix) => prefix + name)),
    labels: labels.flatMap((label) => each.map(() => label)),
  }));
}
