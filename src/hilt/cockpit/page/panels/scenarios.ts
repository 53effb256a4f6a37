// Pick a system and a scenario, change values, start it.

import { api } from "../client";
import { by, h } from "../dom";
import { Form, type Problem } from "./form";
import type { Schema } from "./schema";

export interface SystemEntry {
  name: string;
  summary: string;
  default: string;
  scenarios: { name: string; summary: string }[];
}

const PAUSE = 350; // [ms] from the last key to the check

export class ScenariosPanel {
  private systems: SystemEntry[] = [];
  private list = h("nav.system-list", { "aria-label": "systems and scenarios" });
  private right = h("div.scenario", {}, h("p.waiting", {}, "Pick a scenario on the left."));
  private form: Form | null = null;
  private chosen = { system: "", scenario: "" };
  private rig = h("select", { "aria-label": "rig", "data-testid": "rig" });
  private begin = h("button.primary", { "data-testid": "launch", onclick: () => void this.launch() }, "Start session");
  private verdict = h("span.verdict", { role: "status" });
  private timer = 0;
  private request = 0;

  constructor(
    private starting: (title: string) => void,
    private started: (session: string) => void,
  ) {
    by("scenarios").append(this.list, this.right);
  }

  /** Called when the tab is shown. */
  async enter(): Promise<void> {
    if (this.systems.length) return;
    this.list.replaceChildren(h("p.waiting", {}, "Loading the systems…"));
    try {
      const rigs = await api<{ path: string; summary: string }[]>("/api/rigs");
      this.systems = await api<SystemEntry[]>("/api/systems");
      this.rig.replaceChildren(
        h("option", { value: "" }, "simulation, no hardware"),
        ...rigs.map(({ path, summary }) => h("option", { value: path }, `${path}${summary ? `: ${summary}` : ""}`)),
      );
    } catch (error) {
      return this.list.replaceChildren(h("p.error", {}, (error as Error).message));
    }
    this.list.replaceChildren(
      ...this.systems.map((system) =>
        h(
          "section",
          {},
          h("h2", {}, system.name),
          h("p.muted", {}, system.summary),
          ...system.scenarios.map(({ name, summary }) =>
            h(
              "button.scenario-choice",
              {
                "data-testid": `scenario-${system.name}-${name}`,
                "data-key": `${system.name}/${name}`,
                onclick: () => void this.choose(system.name, name),
              },
              h("b", {}, name),
              h("span", {}, summary),
            ),
          ),
        ),
      ),
    );
    const first = this.systems[0];
    if (first && !this.chosen.system) await this.choose(first.name, first.default);
  }

  async choose(system: string, scenario: string): Promise<void> {
    this.chosen = { system, scenario };
    for (const button of this.list.querySelectorAll<HTMLElement>("[data-key]"))
      button.setAttribute("aria-pressed", String(button.dataset.key === `${system}/${scenario}`));
    this.right.replaceChildren(h("p.waiting", {}, `Opening ${system} · ${scenario}…`)); // values typed before belong to the previous scenario
    try {
      const found = await api<{ schema: Schema; values: Record<string, unknown>; text: string }>(
        `/api/scenario/${encodeURIComponent(system)}/${encodeURIComponent(scenario)}`,
      );
      if (this.chosen.system !== system || this.chosen.scenario !== scenario) return; // another one was picked meanwhile
      this.form = new Form(found.schema, found.values, found.text, () => this.edited());
      this.verdict.textContent = "";
      const filter = h("input", { type: "search", placeholder: "Find a value…", "aria-label": "find a value" });
      filter.addEventListener("input", () => this.form?.filter(filter.value));
      this.right.replaceChildren(
        h(
          "header.scenario-head",
          {},
          h("div", {}, h("h2", {}, `${system} · ${scenario}`), h("p.muted", {}, String(found.values.summary ?? ""))),
          filter,
        ),
        this.form.element,
        h("footer.launch", {}, this.verdict, h("label", {}, "on ", this.rig), this.begin),
      );
    } catch (error) {
      this.right.replaceChildren(h("p.error", {}, (error as Error).message));
    }
  }

  private edited(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.check(), PAUSE);
  }

  private async check(): Promise<void> {
    const request = ++this.request;
    const settings = this.form!.settings();
    try {
      const answer = await api<{ ok: boolean; errors?: Problem[] }>("/api/check", { ...this.chosen, settings });
      if (request !== this.request) return;
      this.form!.tell(answer.errors ?? []);
      const count = Object.keys(settings).length;
      this.say(
        answer.ok ? (count ? `${count} changed, valid` : "as in the file") : "invalid input: see the red line",
        !answer.ok,
      );
      this.begin.disabled = !answer.ok;
    } catch (error) {
      this.say((error as Error).message, true);
    }
  }

  private async launch(): Promise<void> {
    this.begin.disabled = true;
    this.starting(`${this.chosen.system} · ${this.chosen.scenario}`);
    const begun = performance.now();
    const telling = setInterval(
      () =>
        this.say(
          `starting… ${((performance.now() - begun) / 1000).toFixed(0)} s (the first start of a system compiles it)`,
          false,
        ),
      500,
    );
    try {
      const answer = await api<{ session?: string; errors?: Problem[] }>("/api/stations", {
        ...this.chosen,
        settings: this.form!.settings(),
        rig: this.rig.value || null,
      });
      clearInterval(telling);
      this.form!.tell(answer.errors ?? []);
      if (answer.session) {
        this.say("", false);
        this.started(answer.session); // before the controls are enabled: they are for the new session
      } else this.say(answer.errors?.[0]?.sentence ?? "not started", true);
    } catch (error) {
      clearInterval(telling);
      this.say((error as Error).message, true);
    }
    this.starting("");
    this.begin.disabled = false;
  }

  private say(text: string, bad: boolean): void {
    this.verdict.textContent = text;
    this.verdict.classList.toggle("bad", bad);
  }
}
