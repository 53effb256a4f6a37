// The plots: presets, any signal by search, pause, zoom, one cursor for all.

import type { Client } from "../client";
import { by, h } from "../dom";
import { LETTERS } from "../panels/result";
import { painter } from "../painter";
import type { Frame, PlotChoice, Signal, Watching } from "../protocol";
import { type Layout, ofOne, ofSeveral, remove, save, saved } from "./layouts";
import { type Curve, Plot } from "./plot";
import { Search } from "./search";
import { Detail, LIVE_WINDOW, liveHistory } from "./sources";

const MOST_SIGNALS = 24; // the server's limit
const OWN = "saved: "; // prefix that tells a saved layout from a preset
const MOST_DRAWINGS = 10; // a second
const PALETTES = {
  light: ["#1f6fb5", "#c2570c", "#2a8a4a", "#8b3fb0", "#0e8a8f", "#a8324a"],
  dark: ["#63aef2", "#f5a05a", "#6bcf8a", "#c794ee", "#4fd0d6", "#f07f96"],
};
// With several recordings, each has a colour, and its signals are shades of it: A blue, B orange, C green, ...
const SHADES = [100, 65, 40];

export class PlotsPanel {
  readonly history = liveHistory();
  private detail: Detail;
  private search: Search;
  private plots: Plot[] = [];
  private choices: PlotChoice[] = [];
  private watching: Watching | null = null;
  private area = h("div.plot-area");
  private presets = h("select", { "aria-label": "set of plots", "data-testid": "layouts", onchange: () => this.preset() });
  private keep = h(
    "button",
    { title: "save these plots and views under a name, in this browser", "data-testid": "save-layout", onclick: () => this.name(true) },
    "Save",
  );
  // Not a browser dialog: while one is open, no key or button of the page works, including STOP.
  private naming = h("input", {
    hidden: true,
    maxlength: 40,
    placeholder: "name, then Enter",
    "aria-label": "name of the layout",
    onblur: () => this.name(false),
    onkeydown: (event: KeyboardEvent) => event.key === "Enter" && this.saveLayout(),
  });
  private drop = h("button", { hidden: true, title: "delete this saved layout", onclick: () => this.forget() }, "Forget");
  private pauseButton = h(
    "button",
    { title: "freeze the plots; the run continues", "data-testid": "pause-plots", onclick: () => this.pause(!this.paused) },
    "Pause",
  );
  private resetButton = h(
    "button",
    { title: "show the whole time range (double-click in a plot)", disabled: true, onclick: () => this.unzoom() },
    "Whole",
  );
  private note = h("span.note");
  private paused = false;
  private zoom: [number, number] | null = null;
  private t = NaN;
  private refill = 0; // number of the request for the past of the signals
  private hasPast = false;
  private zooming = 0;
  private schedule = painter.add(() => this.redraw(), MOST_DRAWINGS);

  constructor(
    private client: Client,
    private dark: () => boolean,
    private views: { take: () => Pick<Layout, "views" | "large">; give: (layout: Layout) => void },
  ) {
    this.detail = new Detail(client, () => {
      this.note.textContent = this.zoom && this.detail.full ? "every row" : "";
      this.schedule();
    });
    client.on("range", ({ id, samples }) => {
      if (id !== this.refill) return;
      this.history.clear();
      this.history.push(samples);
      this.schedule();
    });
    this.search = new Search((signal, fresh) => this.add(signal, fresh));
    by("plots").append(
      h("div.bar", {}, this.presets, this.drop, this.naming, this.keep, this.search.element, this.pauseButton, this.resetButton, this.note),
      this.area,
    );
    new ResizeObserver(() => this.schedule()).observe(this.area);
    this.say("The plots appear when a session or a recording is watched.");
  }

  get rows(): number[] {
    return this.plots.map((plot) => plot.rows);
  }

  /** Show something else; `again`: the same after a lost connection, with the plots that were chosen. */
  watch(watching: Watching, again: boolean): void {
    this.watching = watching;
    this.history.clear();
    this.detail.forget();
    this.zoom = null;
    this.t = NaN;
    if (again) return this.rebuild();
    this.pause(false);
    const plain = watching.recordings ? watching.signals.filter(({ name }) => name.startsWith("1/")) : watching.signals;
    this.search.offer(plain.map((signal) => ({ ...signal, name: signal.name.replace(/^1\//, "") })));
    this.pauseButton.hidden = !watching.session;
    this.listSets();
    this.preset();
  }

  private get system(): string {
    return [this.watching?.info ?? []].flat()[0]?.system ?? "";
  }

  private listSets(): void {
    const own = saved(this.system).map(({ name }) => h("option", { value: `${OWN}${name}` }, name));
    this.presets.replaceChildren(
      ...(this.watching?.presets ?? []).map(({ name }) => h("option", {}, name)),
      ...(own.length ? [h("optgroup", { label: "saved" }, ...own)] : []),
    );
  }

  /** The chosen layout, if it is a saved one. */
  private get own(): Layout | undefined {
    const { value } = this.presets;
    return value.startsWith(OWN) ? saved(this.system).find(({ name }) => name === value.slice(OWN.length)) : undefined;
  }

  private name(on: boolean): void {
    [this.naming.hidden, this.keep.hidden] = [!on, on];
    if (on) this.naming.focus();
  }

  /** The current plots and views. */
  private saveLayout(): void {
    const name = this.naming.value.trim();
    if (!name || !this.system) return;
    save(this.system, { name, plots: ofOne(this.choices), ...this.views.take() });
    this.listSets();
    this.presets.value = `${OWN}${name}`;
    this.drop.hidden = false;
    this.naming.value = "";
    this.naming.blur();
  }

  private forget(): void {
    if (this.own) remove(this.system, this.own.name);
    this.listSets();
    this.preset();
  }

  frame(frame: Frame, newRun: boolean): void {
    this.t = frame.header.t;
    if (this.watching?.session) {
      if (newRun) {
        this.history.clear();
        this.refill = 0;
        if (this.zoom) this.unzoom();
      }
      if (!this.hasPast && this.t > 0) this.askPast();
      this.history.push(frame.samples);
    }
    this.schedule();
  }

  /** Rebuild all plots after a change of signals or colours. */
  rebuild(): void {
    for (const plot of this.plots) plot.dispose();
    this.area.replaceChildren();
    this.plots = this.choices.map(
      (choice, i) =>
        new Plot(
          choice,
          this.curves(choice),
          (from, to) => this.zoomTo(from, to),
          () => this.unzoom(),
          () => this.remove(i),
          i === this.choices.length - 1,
        ),
    );
    this.area.append(...this.plots.map((plot) => plot.element));
    if (!this.plots.length) this.say(this.watching ? "No plot is chosen: pick a set, or search for a signal." : "");
    const names = this.names();
    const live = !!this.watching?.session;
    this.note.textContent = live && names.length > MOST_SIGNALS ? `only ${MOST_SIGNALS} signals can be shown at once` : "";
    this.history.choose(names);
    if (live) this.client.send({ type: "signals", names: names.slice(0, MOST_SIGNALS) });
    this.hasPast = false;
    this.askRange();
    this.redraw();
  }

  /** Frames bring what is new since a signal was chosen; its past is requested once. */
  private askPast(): void {
    this.hasPast = true;
    const names = this.names().slice(0, MOST_SIGNALS);
    if (names.length)
      this.refill = this.client.ask({
        type: "range",
        names,
        from: Math.max(0, this.t - LIVE_WINDOW),
        to: this.t + 1,
        points: LIVE_WINDOW * 60,
      });
  }

  private names(): string[] {
    return [...new Set(this.plots.flatMap((plot) => plot.curves.map((curve) => curve.signal)))];
  }

  private curves(choice: PlotChoice): Curve[] {
    const palette = PALETTES[this.dark() ? "dark" : "light"];
    const label = (i: number) => choice.labels[i] ?? choice.signals[i]!;
    return choice.signals.map((signal, i) => {
      const run = Number(/^(\d)\//.exec(signal)?.[1] ?? 0); // of several: 1, 2, ...
      if (!run) return { signal, label: label(i), colour: palette[i % palette.length]! };
      const order = choice.signals.filter((each) => each[0] === signal[0]).indexOf(signal);
      return {
        signal,
        label: `${LETTERS[run - 1]} ${label(i).replace(/ · [^·]*$/, "")}`,
        colour: shade(palette[(run - 1) % palette.length]!, SHADES[order % SHADES.length]!, this.dark()),
      };
    });
  }

  private preset(): void {
    const { own } = this;
    this.drop.hidden = !own;
    const preset = this.watching?.presets[Math.max(0, this.presets.selectedIndex)];
    const known = new Set(this.watching?.signals.map(({ name }) => name));
    this.choices = own
      ? ofSeveral(own.plots, this.watching?.recordings?.length ?? 1).filter(({ signals }) => signals.every((name) => known.has(name)))
      : structuredClone(preset?.plots ?? []);
    if (own) this.views.give(own);
    this.rebuild();
  }

  private add(signal: Signal, fresh: boolean): void {
    const same = fresh
      ? undefined
      : this.choices.findLast((choice) => choice.unit === signal.unit && choice.signals.length < 6);
    const names = this.watching?.recordings?.map((_, i) => `${i + 1}/${signal.name}`) ?? [signal.name];
    if (same?.signals.includes(names[0]!)) return;
    const choice = same ?? { title: signal.name, unit: signal.unit, signals: [], labels: [] };
    choice.signals.push(...names);
    choice.labels.push(...names.map(() => signal.name));
    if (!same) this.choices.push(choice);
    this.rebuild();
    this.plots.at(-1)?.element.scrollIntoView({ block: "nearest" });
  }

  private remove(index: number): void {
    this.choices.splice(index, 1);
    this.rebuild();
  }

  private pause(on: boolean): void {
    this.paused = on;
    this.pauseButton.textContent = on ? "Resume" : "Pause";
    this.pauseButton.setAttribute("aria-pressed", String(on));
    this.schedule();
  }

  private zoomTo(from: number, to: number): void {
    this.zoom = [from, to];
    this.resetButton.disabled = false;
    clearTimeout(this.zooming); // one drag is reported by all plots, since they share a cursor
    this.zooming = window.setTimeout(() => this.askRange(), 30);
  }

  private unzoom(): void {
    this.zoom = null;
    this.resetButton.disabled = true;
    this.detail.forget();
    this.askRange();
    this.redraw();
  }

  private askRange(): void {
    const span = this.zoom ?? (this.watching?.session ? null : this.watching?.span);
    const names = this.names();
    if (span && names.length) this.detail.ask(names, span[0], span[1]);
  }

  private redraw(): void {
    if (document.hidden || !this.area.offsetParent) return;
    const live = this.watching?.session && !this.zoom;
    if (live && this.paused) return;
    for (const plot of this.plots) {
      const names = plot.curves.map((curve) => curve.signal);
      if (live) {
        const end = Number.isFinite(this.history.lastTime) ? this.history.lastTime : 0;
        plot.draw(this.history.last(LIVE_WINDOW, names), Math.max(0, end - LIVE_WINDOW), Math.max(end, 1), NaN);
      } else if (this.detail.shown)
        plot.draw(this.detail.columns(names), this.detail.from, this.detail.to, this.watching?.session ? NaN : this.t);
    }
  }

  private say(text: string): void {
    if (text) this.area.replaceChildren(h("p.waiting", {}, text));
  }
}

/** A share of a colour in percent; the rest is the background. */
function shade(colour: string, percent: number, dark: boolean): string {
  const mix = (at: number) => {
    const [own, ground] = [parseInt(colour.slice(at, at + 2), 16), dark ? 0x17 : 0xff];
    return Math.round(ground + ((own - ground) * percent) / 100)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${mix(1)}${mix(3)}${mix(5)}`;
}
