// Which part of the page is shown.

import { by } from "./dom";
import type { Watching } from "./protocol";

const NAMES = ["live", "operator", "scenarios", "maps", "recordings"] as const;
export type TabName = (typeof NAMES)[number];

export class Tabs {
  shown: TabName = "live";
  private buttons = new Map(NAMES.map((name) => [name, by(`tab-${name}`)]));

  constructor(private entered: Partial<Record<TabName, () => void>>) {
    for (const [name, button] of this.buttons) {
      button.addEventListener("click", () => this.show(name));
      button.addEventListener("keydown", (event) => this.key(event, name));
    }
    this.show("live");
  }

  get seesScene(): boolean {
    return this.shown === "live" || this.shown === "operator";
  }

  show(name: TabName): void {
    this.shown = name;
    document.body.dataset.tab = name;
    for (const [each, button] of this.buttons) {
      button.setAttribute("aria-selected", String(each === name));
      button.tabIndex = each === name ? 0 : -1;
    }
    this.entered[name]?.();
  }

  allow(name: TabName, may: boolean): void {
    this.buttons.get(name)!.hidden = !may;
  }

  watch(watching: Watching, automatic: boolean): void {
    document.body.dataset.watch = watching.session ? "session" : watching.recordings ? "compare" : "recording";
    this.buttons.get("live")!.textContent = watching.session ? "Live" : watching.recordings ? "Compare" : "Replay";
    if (!automatic && (!this.seesScene || !watching.session)) this.show("live");
  }

  private key(event: KeyboardEvent, name: TabName): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = NAMES[(NAMES.indexOf(name) + step + NAMES.length) % NAMES.length]!;
    this.buttons.get(next)!.focus();
    this.show(next);
  }
}
