// All recordings with their outcome and changes: open one, read its report, compare several.

import { api, openReport } from "../client";
import { by, clock, h, metric, plain, wordsOf } from "../dom";
import type { Metrics, Verdict } from "../protocol";
import { LETTERS, moodOf } from "./result";

export interface Recording {
  name: string;
  system: string;
  scenario: string;
  seconds: number;
  rows: number;
  rate_hz: number;
  made: string;
  fault: string | null;
  verdict: Verdict | null;
  overrides: { key: string; was: string; value: string }[] | null; // null for a user's scenario
  method: string;
  metrics: Metrics | null;
  bytes: number;
  running: boolean;
}

const FIRST_METRICS = 3;
const FIRST_CHANGES = 4;
const METHOD_KEYS = /^(compensate\.method|integrator\.kind|simulator\.kind)$/; // shown in a separate column

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
    "Compare",
  );
  private body = h("tbody");
  private note = h("p.waiting");

  constructor(
    private open: (name: string) => void,
    private together: (names: string[], align: string) => void,
  ) {
    const heads = ["", "recording", "verdict", "changed", "method", "result", "length", "rate", ""];
    by("recordings").append(
      h(
        "div.bar",
        {},
        this.filter,
        h("span.grow"),
        h("span.muted", {}, "tick two to six to compare, aligned "),
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
    if (!this.all.length) this.note.textContent = "Loading the recordings…";
    try {
      this.all = (await api<Recording[]>("/api/recordings")).sort((a, b) => b.made.localeCompare(a.made));
      this.list();
    } catch (error) {
      this.note.textContent = (error as Error).message;
    }
  }

  private list(): void {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = this.all.filter((each) => words.every((word) => wordsIn(each).includes(word)));
    this.note.textContent = shown.length
      ? ""
      : this.all.length
        ? "No recording matches."
        : "No recording yet: start a scenario; its recording appears here when it ends.";
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
      h("td.name", {}, name, h("small", {}, `${recording.system} · ${recording.scenario} · ${recording.made.replace("T", " ").slice(0, 16)}`)),
      h("td.verdict-cell", {}, running ? "running" : judged(recording)),
      h("td.few", {}, ...changes(recording)),
      h("td", {}, recording.method),
      h("td.few", {}, ...metrics.map(([key, value]) => h("span", {}, `${wordsOf(key)} `, h("b", {}, metric(key, value))))),
      h("td.number", {}, clock(recording.seconds)),
      h("td.number", {}, `${plain(recording.rate_hz)} Hz`),
      h(
        "td.do",
        {},
        h("button", { disabled: running, onclick: () => this.open(name) }, "Open"),
        h("button", { onclick: () => void openReport(name) }, "Report"),
      ),
    );
  }

  private tick(name: string, on: boolean): void {
    this.ticked = on ? [...this.ticked, name].slice(-LETTERS.length) : this.ticked.filter((each) => each !== name);
    this.compare.disabled = this.ticked.length < 2;
    this.compare.textContent = this.ticked.length < 2 ? "Compare" : `Compare ${this.ticked.length}`;
    this.list();
  }
}

function wordsIn({ name, system, scenario, method, verdict, fault, overrides }: Recording): string {
  const changed = (overrides ?? []).map(({ key, value }) => `${key}=${value}`);
  return [name, system, scenario, method, verdict?.kind, verdict?.sentence, fault, ...changed].join(" ").toLowerCase();
}

function judged({ verdict, fault }: Recording): HTMLElement | string {
  if (!verdict) return fault ? h("span.bad", { title: fault }, fault) : "complete";
  const word = { met: "goal met", missed: "goal missed" }[verdict.kind as string] ?? verdict.kind;
  return h(`span.${moodOf(verdict.kind)}`, { title: verdict.sentence }, h("b", {}, word), h("small", {}, verdict.sentence));
}

/** What differs from the shipped scenario; the method has a separate column. */
function changes({ overrides }: Recording): HTMLElement[] {
  if (overrides === null) return [h("span", {}, "a scenario of your own")];
  const others = overrides.filter(({ key }) => !METHOD_KEYS.test(key));
  const more = others.slice(FIRST_CHANGES);
  return [
    ...others.slice(0, FIRST_CHANGES).map(({ key, was, value }) =>
      h("span", { title: `${key} is ${was} in the shipped scenario` }, `${key} `, h("b", {}, value)),
    ),
    ...(more.length
      ? [h("span", { title: more.map(({ key, value }) => `${key} ${value}`).join("\n") }, `and ${more.length} more`)]
      : []),
    ...(others.length ? [] : [h("span", {}, "as shipped")]),
  ];
}
