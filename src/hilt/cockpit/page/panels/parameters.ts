// Parameters that can be changed during a run: value, range, ramp.

import type { Client } from "../client";
import { by, h, plain } from "../dom";
import type { LiveParameter } from "../protocol";

export class ParametersPanel {
  private element = by("live-parameters");
  private rows = new Map<string, { now: HTMLElement; update: (parameter: LiveParameter) => void }>();
  private waiting = h("p.waiting");
  private answers = new Map<number, HTMLElement>();

  constructor(private client: Client) {
    client.on("answer", ({ id, accepted, text }) => {
      const note = this.answers.get(id);
      if (!note) return;
      this.answers.delete(id);
      note.textContent = accepted ? text || "accepted" : text;
      note.classList.toggle("bad", !accepted);
    });
    this.clear("Live parameters appear with a session.");
  }

  clear(text: string): void {
    this.rows.clear();
    this.waiting.textContent = text;
    this.element.replaceChildren(h("h2", {}, "Live parameters"), this.waiting);
  }

  show(parameters: LiveParameter[]): void {
    const same = parameters.length === this.rows.size && parameters.every(({ key }) => this.rows.has(key));
    if (!same) {
      if (!parameters.length) return this.clear("This scenario has no parameter that can be changed during a run.");
      this.rows.clear();
      this.element.replaceChildren(h("h2", {}, "Live parameters"), ...parameters.map((parameter) => this.row(parameter)));
    }
    for (const parameter of parameters) this.rows.get(parameter.key)!.update(parameter);
  }

  private row(parameter: LiveParameter): HTMLElement {
    const unit = parameter.unit === "1" ? "" : parameter.unit;
    const now = h("b.figure");
    const note = h("small.answer");
    const value = h("input", {
      type: "number",
      step: "any",
      "aria-label": `${parameter.key} [${unit}]`,
      value: parameter.value,
    });
    const ramp = h("input", {
      type: "number",
      step: "any",
      min: 0,
      "aria-label": `ramp of ${parameter.key} [s]`,
      value: parameter.ramp,
    });
    const apply = () => {
      const id = this.client.order({ type: "set", key: parameter.key, value: Number(value.value), ramp: Number(ramp.value) });
      note.textContent = "requested…";
      this.answers.set(id, note);
    };
    const form = h(
      "form.parameter",
      { novalidate: true, title: parameter.meaning },
      h("div", {}, h("label", {}, parameter.key), now),
      h(
        "div.inputs",
        {},
        value,
        h("span.unit", {}, unit),
        "in",
        ramp,
        h("span.unit", {}, "s"),
        h("button", { type: "submit" }, "Set"),
      ),
      h("div", {}, h("small.muted", {}, rangeOf(parameter, unit)), note),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      apply();
    });
    this.rows.set(parameter.key, { now, update: (fresh) => (now.textContent = `${plain(fresh.value)} ${unit}`) });
    return form;
  }
}

function rangeOf({ low, high }: LiveParameter, unit: string): string {
  const above = low === null ? "" : Math.abs(low) < 1e-6 && low > 0 ? "> 0" : `≥ ${plain(low)}`;
  if (high === null) return above && `${above} ${unit}`.trim();
  return `${above ? `${above}, ` : ""}≤ ${plain(high)} ${unit}`.trim();
}
