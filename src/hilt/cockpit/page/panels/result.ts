// The result: the verdict, then metrics in words, of one run or of several side by side.

import { openReport } from "../client";
import { by, h, metric, wordsOf } from "../dom";
import type { Difference, RunResult, Verdict } from "../protocol";

export const LETTERS = "ABCDEF"; // of runs side by side

/** A verdict as a colour: green only for a run that met its goal. */
export function moodOf(kind: Verdict["kind"] | undefined): "good" | "warn" | "bad" | "plain" {
  if (kind === "met") return "good";
  if (kind === "diverged" || kind === "stopped") return "bad";
  return kind === "missed" || kind === "no contact" ? "warn" : "plain";
}

export class ResultPanel {
  private element = by("metrics");

  constructor(private open: (recording: string) => void) {
    this.wait();
  }

  wait(text = "Metrics appear when the run has ended and its recording is written."): void {
    this.element.replaceChildren(h("h2", {}, "Result"), h("p.waiting", {}, text));
  }

  show(result: RunResult, openable: boolean): void {
    const { recording } = result;
    this.element.replaceChildren(
      h("h2", {}, "Result"),
      judged(result),
      table(["", ""], [result], result.words ?? {}),
      recording
        ? h(
            "p.actions",
            {},
            openable &&
              h("button", { "data-testid": "open-recording", onclick: () => this.open(recording) }, "Scrub through it"),
            h("button", { "data-testid": "report", onclick: () => void openReport(recording) }, "Report"),
          )
        : "",
    );
  }

  compare(results: RunResult[], names: string[], differences: Difference[]): void {
    const words = Object.assign({}, ...results.map((result) => result.words ?? {})) as Record<string, string>;
    const letters = [...LETTERS].slice(0, results.length);
    this.element.replaceChildren(
      h("h2", {}, "Side by side"),
      ...results.map((result, i) => h("div.judged", { title: names[i] }, h("b", {}, letters[i]), judged(result) || names[i])),
      h("h2", {}, "What differs"),
      differences.length
        ? h(
            "table.metrics",
            { "data-testid": "differences" },
            h("tr", {}, ...["", ...letters].map((head) => h("th", {}, head))),
            ...differences.map(({ key, values }) =>
              h("tr", {}, h("th", { scope: "row" }, key), ...values.map((value) => h("td", {}, value))),
            ),
          )
        : h("p.waiting", {}, "Nothing in their scenarios, or their systems differ."),
      h("h2", {}, "Results"),
      table(["", ...letters], results, words),
    );
  }
}

/** The verdict in its colour; for a recording without one, its fault if any. */
function judged({ verdict, fault }: RunResult): HTMLElement | "" {
  if (verdict) return h(`p.verdict-note.${moodOf(verdict.kind)}`, { "data-testid": "verdict" }, verdict.sentence);
  return fault ? h("p.verdict-note.bad", { "data-testid": "verdict" }, fault) : "";
}

function table(heads: string[], results: RunResult[], words: Record<string, string>): HTMLElement {
  const names = [...new Set(results.flatMap((result) => Object.keys(result.metrics ?? {})))];
  if (!names.length) return h("p.waiting", {}, "This run has no metrics.");
  const cells = (name: string) =>
    results.map(({ metrics = {}, reasons = {} }) => {
      const text = (name in metrics ? metric(name, metrics[name]) : "–") + (name in reasons ? ` (${reasons[name]})` : "");
      return h(text.length > 14 ? "td.many" : "td", {}, text);
    });
  return h(
    "table.metrics",
    {},
    heads.some(Boolean) && h("tr", {}, ...heads.map((head) => h("th", {}, head))),
    ...names.map((name) => h("tr", {}, h("th", { scope: "row", title: name }, words[name] ?? wordsOf(name)), ...cells(name))),
  );
}
