// What came out: metrics in words, of one run or of two side by side.

import { openReport } from "../client";
import { by, h, metric, wordsOf } from "../dom";
import type { RunResult } from "../protocol";

export class ResultPanel {
  private element = by("metrics");

  constructor(private open: (recording: string) => void) {
    this.wait();
  }

  wait(text = "Metrics appear when the run has ended and is written."): void {
    this.element.replaceChildren(h("h2", {}, "Result"), h("p.waiting", {}, text));
  }

  show(result: RunResult, openable: boolean): void {
    const { recording, fault } = result;
    this.element.replaceChildren(
      h("h2", {}, "Result"),
      fault ? h("p.fault-note", {}, fault) : "",
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

  compare(results: RunResult[], names: string[]): void {
    const words = Object.assign({}, ...results.map((result) => result.words ?? {})) as Record<string, string>;
    this.element.replaceChildren(
      h("h2", {}, "Side by side"),
      h("p.muted", {}, ...names.flatMap((name, i) => [h("b", {}, `${"AB"[i]} `), name, h("br")])),
      table(["", "A", "B"], results, words),
      ...results.map((result, i) => (result.fault ? h("p.fault-note", {}, `${"AB"[i]}: ${result.fault}`) : "")),
    );
  }
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
