// All recordings: look at one, read its report, compare two.

import { api, openReport } from "../client";
import { by, clock, h, metric, plain, wordsOf } from "../dom";
import type { Metrics } from "../protocol";

export interface Recording {
  name: string;
  system: string;
  scenario: string;
  seconds: number;
  rows: number;
  rate_hz: number;
  made: string;
  fault: string | null;
  metrics: Metrics | null;
  bytes: number;
  running: boolean;
}

const FIRST_METRICS = 3;

export class RecordingsPanel {
  private all: Recording[] = [];
  private ticked: string[] = [];
  private filter = h("input", {
    type: "search",
    placeholder: "Find a recording…",
    "aria-label": "find a recording",
    oninput: () => this.list(),
  });
  private align = h(
    "select",
    { "aria-label": "align" },
    h("option", { value: "first-contact" }, "at first contact"),
    h("option", { value: "start" }, "at the start"),
  );
  private compare = h(
    "button.primary",
    { "data-testid": "compare", disabled: true, onclick: () => this.together(this.ticked, this.align.value) },
    "Compare two",
  );
  private body = h("tbody");
  private note = h("p.waiting");

  constructor(
    private open: (name: string) => void,
    private together: (names: string[], align: string) => void,
  ) {
    const heads = ["", "recording", "scenario", "length", "rate", "made", "metrics", "end", ""];
    by("recordings").append(
      h(
        "div.bar",
        {},
        this.filter,
        h("span.grow"),
        h("span.muted", {}, "tick two to compare, aligned "),
        this.align,
        this.compare,
        h("button", { onclick: () => void this.enter() }, "Refresh"),
      ),
      h(
        "div.table-box",
        {},
        h("table.list", {}, h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", {}, head)))), this.body),
        this.note,
      ),
    );
  }

  async enter(): Promise<void> {
    if (!this.all.length) this.note.textContent = "Asking the server for its recordings…";
    try {
      this.all = (await api<Recording[]>("/api/recordings")).sort((a, b) => b.made.localeCompare(a.made));
      this.list();
    } catch (error) {
      this.note.textContent = (error as Error).message;
    }
  }

  private list(): void {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = this.all.filter(({ name, system, scenario, fault }) =>
      words.every((word) => `${name} ${system} ${scenario} ${fault ?? ""}`.toLowerCase().includes(word)),
    );
    this.note.textContent = shown.length
      ? ""
      : this.all.length
        ? "No recording has these words."
        : "No recording yet: start a scenario, and it will be here when it ends.";
    this.body.replaceChildren(...shown.map((recording) => this.row(recording)));
  }

  private row(recording: Recording): HTMLElement {
    const { name, running } = recording;
    const tick = h("input", {
      type: "checkbox",
      "aria-label": `compare ${name}`,
      checked: this.ticked.includes(name),
      disabled: running,
    });
    tick.addEventListener("change", () => this.tick(name, tick.checked));
    const metrics = Object.entries(recording.metrics ?? {})
      .filter(([, value]) => typeof value === "number")
      .slice(0, FIRST_METRICS);
    return h(
      "tr",
      { "data-name": name },
      h("td", {}, tick),
      h("td.name", {}, name),
      h("td", {}, `${recording.system} · ${recording.scenario}`),
      h("td.number", {}, clock(recording.seconds)),
      h("td.number", {}, `${plain(recording.rate_hz)} Hz`),
      h("td", {}, recording.made.replace("T", " ").slice(0, 16)),
      h("td.few", {}, ...metrics.map(([key, value]) => h("span", {}, `${wordsOf(key)} `, h("b", {}, metric(key, value))))),
      h(
        "td",
        {},
        running ? "running" : recording.fault ? h("span.bad", { title: recording.fault }, recording.fault) : "complete",
      ),
      h(
        "td.do",
        {},
        h("button", { disabled: running, onclick: () => this.open(name) }, "Open"),
        h("button", { onclick: () => void openReport(name) }, "Report"),
      ),
    );
  }

  private tick(name: string, on: boolean): void {
    this.ticked = on ? [...this.ticked, name].slice(-2) : this.ticked.filter((each) => each !== name);
    this.compare.disabled = this.ticked.length !== 2;
    this.list();
  }
}
