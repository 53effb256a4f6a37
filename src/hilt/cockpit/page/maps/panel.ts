// Maps: start a sweep, watch it fill, click a point to open that run.

import { api, openPage } from "../client";
import { by, h } from "../dom";
import { type Chart, FLOOR, home, isFloored, isMap, numberOf, type Point, rest, describe } from "./chart";
import { Drawing } from "./drawing";
import { OrderForm } from "./order";

type Going = "running" | "waiting" | "whole" | "unfinished" | "gone";

interface Entry {
  name: string;
  system: string;
  scenario: string;
  axes: { keys: string[]; count: number }[];
  count: number;
  made: string;
  state: Going;
}

/** A chart and its progress; only the progress if the chart is already known. */
interface Status extends Partial<Chart> {
  name: string;
  state: Going;
  sentence: string;
  seen?: string;
  done?: number;
  count?: number;
  rate?: number | null;
  left?: number | null;
  system?: string;
  scenario?: string;
  summary?: string;
  metrics?: { name: string; title: string }[];
  damaged?: number;
}

const OFTEN = 400; // [ms] while it fills
const SELDOM = 3000;
const WORDS: Record<Going, string> = { running: "running", waiting: "waiting", whole: "", unfinished: "not finished", gone: "" };

export class MapsPanel {
  private form = new OrderForm((name, metric) => this.choose(name, metric));
  private entries = h("div.map-list", { "data-testid": "map-list" });
  private title = h("h2");
  private summary = h("p.muted");
  private metric = h("select", { "aria-label": "metric", "data-testid": "map-metric", onchange: () => this.again() });
  private picks = h("span.map-picks");
  private bar = h("progress", { max: 1, value: 0, "aria-label": "computed" });
  private far = h("span.figure", { role: "status", "data-testid": "map-progress" });
  private cancel = h("button", { "data-testid": "map-cancel", onclick: () => void this.order("cancel") }, "Cancel");
  private resume = h("button.primary", { "data-testid": "map-continue", onclick: () => void this.order("continue") }, "Continue");
  private report = h("button", { "data-testid": "map-report", onclick: () => this.name && void openPage(`/api/maps/${this.path}/report`) }, "Report");
  private readout = h("p.map-readout", { role: "status", "data-testid": "map-readout" });
  private caption = h("p.muted.map-caption", { "data-testid": "map-caption" });
  private legend = h("p.legend.map-legend");
  private note = h("p.map-note", { role: "status", "data-testid": "map-note" });
  private drawing: Drawing;
  private right = h("div.map-shown");
  private waiting = h("p.waiting", {}, "Choose a sweep on the left, or start one.");
  private listed = ""; // what the list shows
  private name = "";
  private chart: Chart | null = null;
  private last: Status | null = null;
  private timer = 0;
  private request = 0;
  private opening = false;
  private mayOrder = false;

  constructor(
    dark: () => boolean,
    private open: (recording: string) => void,
  ) {
    this.drawing = new Drawing(dark, (open) => (open ? void this.run() : this.read()));
    const head = h("header.map-head", {}, h("div", {}, this.title, this.summary), h("span.grow"), this.metric, this.picks);
    const progress = h("div.map-bar", {}, this.bar, this.far, h("span.grow"), this.cancel, this.resume, this.report);
    this.right.append(head, progress, this.note, this.legend, this.drawing.element, this.readout, this.caption);
    this.right.hidden = true;
    by("maps").append(
      h("aside.map-side", {}, this.form.element, h("section", {}, h("h2", {}, "Sweeps in the folder"), this.entries)),
      this.right,
      this.waiting,
    );
    window.setInterval(() => this.shown && !document.hidden && void this.list(), SELDOM); // other programs start sweeps, too
  }

  /** Whether this page may start, cancel, continue and open sweeps, or only watch them. */
  allow(may: boolean): void {
    this.mayOrder = may;
    this.form.element.hidden = !may;
    this.progress();
  }

  async enter(): Promise<void> {
    if (this.mayOrder) void this.form.enter();
    await this.list();
    this.again();
  }

  draw(): void {
    if (this.chart) this.paint();
  }

  private get path(): string {
    return encodeURIComponent(this.name);
  }

  private get shown(): boolean {
    return document.body.dataset.tab === "maps";
  }

  private async list(): Promise<void> {
    try {
      const found = await api<Entry[]>("/api/maps");
      const text = JSON.stringify(found.map(({ name, state }) => [name, state]));
      if (text === this.listed) return; // the focus stays where it is
      this.listed = text;
      this.entries.replaceChildren(...found.map((entry) => this.entry(entry)));
      if (!found.length) this.entries.replaceChildren(h("p.muted", {}, "None yet. Those started by hilt sweep appear here, too."));
      const going = found.find(({ state }) => state === "running" || state === "waiting");
      if (!this.name && going) this.choose(going.name, "");
    } catch (error) {
      this.listed = "";
      this.entries.replaceChildren(h("p.error", {}, (error as Error).message));
    }
  }

  private entry({ name, system, scenario, axes, count, made, state }: Entry): HTMLElement {
    const over = axes.map(({ keys, count }) => `${keys.join(", ")} (${count})`).join(" × ");
    return h(
      "button.scenario-choice",
      { "data-name": name, "aria-pressed": String(name === this.name), onclick: () => this.choose(name, "") },
      h("b", {}, `${system} · ${scenario}`),
      h("span", {}, over),
      h("span", {}, `${made.replace("T", " ").slice(0, 16)} · ${count} scenarios${WORDS[state] && ` · ${WORDS[state]}`}`),
    );
  }

  private choose(name: string, metric: string): void {
    this.name = name;
    this.chart = this.last = null;
    this.metric.replaceChildren(h("option", { value: metric }, metric));
    this.note.textContent = this.readout.textContent = this.caption.textContent = "";
    this.legend.replaceChildren();
    this.picks.replaceChildren();
    this.drawing.clear();
    for (const button of this.entries.querySelectorAll<HTMLElement>("[data-name]"))
      button.setAttribute("aria-pressed", String(button.dataset.name === name));
    this.again();
  }

  /** Ask now, and then regularly while the tab is shown. */
  private again(): void {
    clearTimeout(this.timer);
    if (this.name && this.shown) void this.ask();
  }

  private async ask(): Promise<void> {
    const [name, request] = [this.name, ++this.request];
    const seen = this.chart && this.last?.seen?.startsWith(`${this.metric.value} `) ? this.last.seen : "";
    let pause = SELDOM;
    try {
      const found = await api<Status>(`/api/maps/${this.path}?${new URLSearchParams({ metric: this.metric.value, seen: seen ?? "" })}`);
      if (name !== this.name || request !== this.request) return;
      const before = this.last?.state;
      this.show(found);
      if (found.state === "running" || found.state === "waiting") pause = OFTEN;
      if (before !== found.state) void this.list();
    } catch (error) {
      if (name !== this.name || request !== this.request) return;
      this.note.textContent = (error as Error).message;
      this.right.hidden = false;
      this.waiting.hidden = true;
    }
    this.timer = window.setTimeout(() => this.again(), pause);
  }

  private show(found: Status): void {
    this.right.hidden = false;
    this.waiting.hidden = true;
    this.last = { ...this.last, ...found };
    if (found.values && found.axes) {
      const first = !this.chart;
      this.chart = found as Chart;
      this.title.textContent = `${found.system} · ${found.scenario}`;
      this.summary.textContent = found.summary ?? "";
      this.metric.replaceChildren(
        ...found.metrics!.map(({ name, title }) => h("option", { value: name, selected: name === found.metric, title }, `${name}: ${title}`)),
      );
      if (first) this.drawing.point = home(this.chart);
      if (first) this.pickers();
      this.paint();
    } else if (!this.chart) this.title.textContent = this.name;
    this.progress();
  }

  private paint(): void {
    const chart = this.chart!;
    this.drawing.element.dataset.filled = String(chart.values.filter((value) => value !== false).length);
    this.drawing.show(chart, this.drawing.point);
    const { lines } = rest(chart);
    this.legend.replaceChildren(
      ...(lines === null
        ? []
        : chart.axes[lines]!.values.map((value, n) =>
            h("span", {}, h("i.swatch.solid", { style: `--paint:${this.drawing.colour(chart, n)}` }), String(value)),
          )),
    );
    this.caption.textContent = captionOf(chart);
    this.read();
  }

  /** Pickers for the axes that are not drawn. */
  private pickers(): void {
    const chart = this.chart!;
    this.picks.replaceChildren(
      ...rest(chart).picked.map((n) => {
        const { key, unit, values } = chart.axes[n]!;
        const select = h(
          "select",
          { "aria-label": key },
          ...values.map((value, place) => h("option", { value: place, selected: place === this.drawing.point[n] }, `${value}${unit && ` ${unit}`}`)),
        );
        select.addEventListener("change", () => {
          this.drawing.point[n] = Number(select.value);
          this.paint();
        });
        return h("label", {}, `${key} `, select);
      }),
    );
  }

  private progress(): void {
    const status = this.last;
    if (!status) return;
    const { state, done = 0, count = 0, rate, left, sentence, damaged } = status;
    const going = state === "running" || state === "waiting";
    this.bar.max = count || 1;
    this.bar.value = done;
    this.bar.hidden = !going;
    const parts = [
      count ? `${done.toLocaleString("en")} of ${count.toLocaleString("en")} scenarios` : "starting…",
      state === "running" && rate ? `${Math.round(rate).toLocaleString("en")} per second` : "",
      state === "running" && left !== null && left !== undefined ? `${duration(left)} left` : "",
    ];
    this.far.textContent = state === "whole" ? `${count.toLocaleString("en")} scenarios` : state === "gone" ? "" : parts.filter(Boolean).join(" · ");
    this.far.dataset.state = state;
    this.cancel.hidden = !going || !this.mayOrder;
    this.resume.hidden = state !== "unfinished" || !this.mayOrder;
    this.report.hidden = state !== "whole";
    if (!this.opening) this.note.textContent = [sentence, damaged ? `${damaged} damaged chunks are missing.` : ""].filter(Boolean).join(" ");
  }

  private read(): void {
    if (!this.chart) return;
    const which = this.chart.averaged ? "the run of its first seed" : "this run";
    this.readout.replaceChildren(
      `${describe(this.chart, this.drawing.point)}. `,
      h("span.muted", {}, this.mayOrder ? `Click or Enter opens ${which}.` : ""),
    );
  }

  private async order(what: "cancel" | "continue"): Promise<void> {
    try {
      const answer = await api<{ errors?: { sentence: string }[] }>(`/api/maps/${this.path}/${what}`, {});
      if (answer.errors) this.note.textContent = answer.errors.map(({ sentence }) => sentence).join(" ");
      else this.again();
    } catch (error) {
      this.note.textContent = (error as Error).message;
    }
  }

  /** Run the chosen point again, with all its signals, and show it. */
  private async run(): Promise<void> {
    const { chart, name } = this;
    if (!chart || this.opening) return;
    this.read();
    if (!this.mayOrder) return;
    this.opening = true;
    const point: Point = [...this.drawing.point];
    this.note.textContent = `Running ${describe(chart, point).split(": ")[0]}…`;
    try {
      const { recording } = await api<{ recording: string }>(`/api/maps/${this.path}/open`, { number: numberOf(chart, point) });
      this.note.textContent = "";
      if (this.shown && this.name === name) this.open(recording);
    } catch (error) {
      this.note.textContent = (error as Error).message;
    }
    this.opening = false;
  }
}

function captionOf(chart: Chart): string {
  const parts = [chart.title];
  if (chart.averaged) parts.push(`Mean of ${chart.averaged.count} ${chart.averaged.what}${chart.low ? "; band: smallest to largest" : ""}`);
  const there = chart.values.filter((value) => value !== false);
  if (there.some((value) => isFloored(chart, value))) parts.push(`Errors below ${FLOOR} % are drawn as ${FLOOR} %`);
  if (isMap(chart)) {
    if (chart.axes.slice(0, 2).every(({ here }) => here !== null)) parts.push("Cross: the scenario");
    const shares = (chart.diverged ?? []).filter((share): share is number => typeof share === "number");
    if (Math.min(...shares) < 0.5 && Math.max(...shares) >= 0.5) parts.push("Violet: beyond it the loop diverges");
    if (there.includes(null)) parts.push("Grey: no such value");
  } else if (chart.axes[0]!.here !== null) parts.push("Dotted: the scenario");
  return `${parts.join(". ")}.`;
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
