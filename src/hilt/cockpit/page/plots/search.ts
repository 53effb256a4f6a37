// Find a signal among hundreds by words in its name, unit or meaning.

import { h } from "../dom";
import type { Signal } from "../protocol";

const SHOWN = 40;

export function matches(signals: Signal[], text: string): Signal[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = signals.filter((signal) => {
    const all = `${signal.name} ${signal.unit} ${signal.frame} ${signal.meaning}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  const start = words[0] ?? "";
  const rank = (signal: Signal) => (signal.name.toLowerCase().startsWith(start) ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b)).slice(0, SHOWN);
}

export class Search {
  readonly element: HTMLElement;
  private input = h("input", {
    type: "search",
    placeholder: "Add a signal…",
    "aria-label": "search signals",
    autocomplete: "off",
    "data-testid": "signal-search",
  });
  private list = h("ul.found", { role: "listbox", hidden: true });
  private signals: Signal[] = [];
  private marked = 0;

  constructor(private choose: (signal: Signal, fresh: boolean) => void) {
    this.element = h("div.search", {}, this.input, this.list);
    this.input.addEventListener("input", () => this.show());
    this.input.addEventListener("focus", () => this.show());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(event.relatedTarget as Node | null)) this.list.hidden = true;
    });
  }

  offer(signals: Signal[]): void {
    this.signals = signals;
    this.input.value = "";
    this.list.hidden = true;
  }

  private show(): void {
    const found = matches(this.signals, this.input.value);
    this.marked = 0;
    this.list.replaceChildren(
      ...found.map((signal, i) =>
        h(
          "li",
          {
            role: "option",
            "aria-selected": String(i === 0),
            onpointerdown: (event: PointerEvent) => this.take(event, signal),
          },
          h("b", {}, signal.name),
          h("i", {}, signal.unit === "1" ? "" : signal.unit),
          h("span", {}, signal.meaning),
        ),
      ),
      h(
        "li.hint",
        {},
        found.length ? "Enter: into a plot of that unit · Alt+Enter: into a new plot" : "No signal matches; try fewer words.",
      ),
    );
    this.list.hidden = false;
  }

  private key(event: KeyboardEvent): void {
    const options = [...this.list.querySelectorAll("[role=option]")];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.marked = (this.marked + (event.key === "ArrowDown" ? 1 : options.length - 1)) % Math.max(1, options.length);
      options.forEach((option, i) => option.setAttribute("aria-selected", String(i === this.marked)));
      options[this.marked]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      const signal = matches(this.signals, this.input.value)[this.marked];
      if (signal) this.take(event, signal);
    } else return;
    event.preventDefault();
  }

  private take(event: PointerEvent | KeyboardEvent, signal: Signal): void {
    event.preventDefault();
    this.input.value = "";
    this.list.hidden = true;
    this.choose(signal, event.altKey);
  }
}
