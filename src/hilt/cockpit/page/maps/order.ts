// A new sweep: system, scenario, settings, axes; errors, or the expected duration, before it starts.

import { api } from "../client";
import { h, si } from "../dom";
import { Form, type Problem } from "../panels/form";
import { type Field, fields, type Schema } from "../panels/schema";
import type { SystemEntry } from "../panels/scenarios";

interface Sheet {
  schema: Schema;
  values: Record<string, unknown>;
  text: string;
  metrics: Record<string, string>;
}

interface Checked {
  ok: boolean;
  errors?: Problem[];
  estimate?: { sentence: string };
}

const PAUSE = 350; // [ms] from the last key to the check
const KEYS = "map-keys"; // id of the list of keys for axes
const EXAMPLES = ["2..40 ms:39", "10..300 N/mm:60 log"];

/** One axis: a key, its values as text, and their errors. */
class AxisRow {
  readonly key: HTMLInputElement;
  readonly values: HTMLInputElement;
  readonly element: HTMLElement;
  private about = h("small.about");
  private error = h("span.error", { role: "alert" });

  constructor(
    n: number,
    name: string,
    private fields: () => Field[],
    changed: () => void,
  ) {
    const plain = { type: "text", autocomplete: "off", spellcheck: "false" };
    const id = `map-key-${n}`;
    this.key = h("input", { ...plain, id, list: KEYS, maxlength: 100, placeholder: "key, such as robot.delay", "data-testid": id });
    this.values = h("input", {
      ...plain,
      maxlength: 2000,
      placeholder: EXAMPLES[n]!,
      "aria-label": `values of the ${name}`,
      "data-testid": `map-values-${n}`,
    });
    this.element = h("div.map-axis", {}, h("label", { for: id }, name), this.key, this.values, this.about, this.error);
    this.element.addEventListener("input", () => {
      this.explain();
      changed();
    });
  }

  /** Show what the key means, and its value in the scenario. */
  explain(): void {
    const field = this.fields().find(({ key }) => key === this.key.value.trim());
    const now = typeof field?.value === "number" ? si(field.value, field.unit, 6) : field?.choices.join(", ");
    this.about.textContent = field ? [field.about, now && (field.choices.length ? `one of ${now}` : `now ${now}`), field.range].filter(Boolean).join(" · ") : "";
  }

  tell(problems: Problem[]): void {
    this.error.textContent = problems.map(({ sentence }) => sentence).join(" ");
    this.element.classList.toggle("wrong", problems.length > 0);
  }

  get empty(): boolean {
    return !this.key.value.trim() && !this.values.value.trim();
  }
}

export class OrderForm {
  readonly element = h("form.map-new", { "aria-label": "new map", autocomplete: "off" });
  private systems: SystemEntry[] = [];
  private system = h("select", { id: "map-system", "data-testid": "map-system", onchange: () => void this.pickSystem() });
  private scenario = h("select", { id: "map-scenario", "data-testid": "map-scenario", onchange: () => void this.pickScenario() });
  private keys = h("datalist", { id: KEYS });
  private settings = h("details.map-settings", { "data-testid": "map-settings" });
  private summary = h("summary", {}, "Settings");
  private form: Form | null = null;
  private known: Field[] = [];
  private axes: AxisRow[];
  private seeds = h("input", { id: "map-seeds", type: "text", inputmode: "numeric", placeholder: "1", maxlength: 6, "data-testid": "map-seeds" });
  private metric = h("select", { id: "map-metric-wanted", "data-testid": "map-metric-wanted" });
  private note = h("p.verdict", { role: "status", "data-testid": "map-estimate" });
  private begin = h("button.primary", { type: "submit", disabled: true, "data-testid": "map-start" }, "Start sweep");
  private timer = 0;
  private request = 0;

  constructor(private started: (name: string, metric: string) => void) {
    const edited = (): void => this.edited();
    this.axes = ["horizontal axis", "vertical axis"].map((name, n) => new AxisRow(n, name, () => this.known, edited));
    this.seeds.addEventListener("input", edited);
    const line = (label: string, input: HTMLElement): HTMLElement => h("div.map-line", {}, h("label", { for: input.id }, label), input);
    this.element.append(
      h("h2", {}, "New map"),
      line("system", this.system),
      line("scenario", this.scenario),
      this.settings,
      ...this.axes.map(({ element }) => element),
      line("seeds", this.seeds),
      line("show", this.metric),
      this.keys,
      this.note,
      this.begin,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.start();
    });
  }

  async enter(): Promise<void> {
    if (this.systems.length) return;
    this.say("Loading the systems…", false);
    try {
      this.systems = await api<SystemEntry[]>("/api/systems");
    } catch (error) {
      return this.say((error as Error).message, true);
    }
    this.system.replaceChildren(...this.systems.map(({ name }) => h("option", { value: name }, name)));
    await this.pickSystem();
  }

  private async pickSystem(): Promise<void> {
    const system = this.systems.find(({ name }) => name === this.system.value);
    if (!system) return;
    this.scenario.replaceChildren(
      ...system.scenarios.map(({ name, summary }) => h("option", { value: name, title: summary, selected: name === system.default }, name)),
    );
    await this.pickScenario();
  }

  private async pickScenario(): Promise<void> {
    const [system, scenario] = [this.system.value, this.scenario.value];
    try {
      const sheet = await api<Sheet>(`/api/scenario/${encodeURIComponent(system)}/${encodeURIComponent(scenario)}`);
      if (system !== this.system.value || scenario !== this.scenario.value) return; // another one was picked meanwhile
      this.show(sheet);
    } catch (error) {
      this.say((error as Error).message, true);
    }
  }

  private show({ schema, values, text, metrics }: Sheet): void {
    this.form = new Form(schema, values, text, () => this.edited(), "map");
    this.known = fields(schema, values);
    this.settings.replaceChildren(this.summary, this.form.element);
    const single = this.known.filter(({ kind }) => kind === "number" || kind === "choice" || kind === "switch");
    this.keys.replaceChildren(...single.map(({ key, about, unit }) => h("option", { value: key }, [about, unit].filter(Boolean).join(", "))));
    const wanted = this.metric.value;
    this.metric.replaceChildren(
      h("option", { value: "" }, "the most telling metric"),
      ...Object.entries(metrics).map(([name, words]) => h("option", { value: name, selected: name === wanted }, `${name}: ${words}`)),
    );
    for (const axis of this.axes) axis.explain();
    this.edited();
  }

  private order(): Record<string, unknown> {
    const seeds = this.seeds.value.trim();
    return {
      system: this.system.value,
      scenario: this.scenario.value,
      settings: this.form?.settings() ?? {},
      over: this.axes.filter((axis) => !axis.empty).map(({ key, values }) => ({ key: key.value.trim(), values: values.value.trim() })),
      seeds: seeds === "" ? null : Number.isFinite(Number(seeds)) ? Number(seeds) : seeds,
    };
  }

  private edited(): void {
    clearTimeout(this.timer);
    this.begin.disabled = true; // until the server has checked it
    this.timer = window.setTimeout(() => void this.check(), PAUSE);
  }

  private async check(): Promise<void> {
    const request = ++this.request;
    const changed = Object.keys(this.form?.settings() ?? {}).length;
    this.summary.textContent = changed ? `Settings · ${changed} changed` : "Settings · as in the file";
    if (this.axes.every(({ empty }) => empty) && !this.seeds.value.trim()) {
      this.tell([]);
      return this.say(`Choose a key and write its values: ${EXAMPLES.join(", ")}, 1,2,5 ms or none,pida.`, false);
    }
    try {
      const answer = await api<Checked>("/api/maps/check", this.order());
      if (request !== this.request) return;
      this.tell(answer.errors ?? []);
      if (answer.estimate) this.say(`${answer.estimate.sentence}.`, false);
      this.begin.disabled = !answer.estimate;
    } catch (error) {
      if (request === this.request) this.say((error as Error).message, true);
    }
  }

  /** Show each problem next to its cause: an axis, a value of the form, or the whole order. */
  private tell(problems: Problem[]): void {
    const used = this.axes.filter((axis) => !axis.empty);
    const about = ({ key }: Problem): AxisRow | undefined =>
      used.find((axis, n) => (key !== "" && axis.key.value.trim() === key) || key.startsWith(`over.${n}.`));
    for (const axis of this.axes) axis.tell(problems.filter((problem) => about(problem) === axis));
    const others = problems.filter((problem) => !about(problem));
    const inForm = others.filter(({ key }) => this.known.some((field) => key === field.key || key.startsWith(`${field.key}.`)));
    this.form?.tell(inForm);
    if (inForm.length) this.settings.open = true;
    if (problems.length) this.say(others.map(({ sentence }) => sentence).join(" ") || "Invalid input: see the red line.", true);
  }

  private async start(): Promise<void> {
    if (this.begin.disabled) return;
    this.begin.disabled = true;
    this.say("Starting…", false);
    try {
      const answer = await api<{ map?: string; errors?: Problem[] }>("/api/maps", this.order());
      this.tell(answer.errors ?? []);
      if (answer.map) {
        this.say("", false);
        this.started(answer.map, this.metric.value);
      }
    } catch (error) {
      this.say((error as Error).message, true);
    }
    this.begin.disabled = false;
  }

  private say(text: string, bad: boolean): void {
    this.note.textContent = text;
    this.note.classList.toggle("bad", bad);
  }
}

