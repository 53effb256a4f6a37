// The form of a scenario: one row per field, with unit, range, meaning and error.

import { h, prefixFor, si } from "../dom";
import { type Field, type Schema, fieldOf, fields, same, typed } from "./schema";

export interface Problem {
  key: string;
  sentence: string;
}

interface Row {
  field: Field;
  element: HTMLElement;
  error: HTMLElement;
  read: () => unknown;
  reset: () => void;
  first: unknown; // what `read` gave before any edit
}

export class Form {
  readonly element: HTMLElement;
  private rows: Row[];
  private general = h("p.error", { role: "alert" });

  constructor(
    schema: Schema,
    values: Record<string, unknown>,
    text: string,
    private changed: () => void,
    private name = "scenario", // the page may have another form with the same fields
  ) {
    this.element = h("div.fields", { "data-testid": `${name}-form` });
    this.rows = fields(schema, values).map((field) => this.row(field));
    const sections = new Map<string, Row[]>();
    for (const row of this.rows) sections.set(row.field.section, [...(sections.get(row.field.section) ?? []), row]);
    // Sections that the scenario's own file sets are open, the others folded.
    const spoken = new Set([...text.matchAll(/^\s*\[+([\w.]+)\]/gm)].map((match) => match[1]));
    this.element.append(
      this.general,
      ...[...sections].map(([name, rows]) =>
        h(
          "details",
          { open: name === "" || spoken.has(name) },
          h("summary", {}, name || "run", h("small", {}, ` ${rows.length} value${rows.length > 1 ? "s" : ""}`)),
          ...rows.map((row) => row.element),
        ),
      ),
    );
  }

  /** Only the changed values. */
  settings(): Record<string, unknown> {
    const changed = this.rows.filter((row) => !same(row.read(), row.first));
    return Object.fromEntries(changed.map((row) => [row.field.key, row.read()]));
  }

  /** Show problems next to their fields; those without a field at the top. */
  tell(problems: Problem[]): void {
    const all = this.rows.map((row) => row.field);
    for (const row of this.rows) {
      row.error.textContent = problems
        .filter(({ key }) => fieldOf(key, all) === row.field)
        .map(({ sentence }) => sentence)
        .join(" ");
      row.element.classList.toggle("wrong", row.error.textContent !== "");
      if (row.error.textContent) row.element.closest("details")!.open = true;
    }
    this.general.textContent = problems
      .filter(({ key }) => !fieldOf(key, all))
      .map(({ sentence }) => sentence)
      .join(" ");
  }

  filter(text: string): void {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { field, element } of this.rows) {
      const all = `${field.key} ${field.about} ${field.unit}`.toLowerCase();
      element.hidden = !words.every((word) => all.includes(word));
    }
    for (const section of this.element.querySelectorAll("details")) {
      const some = [...section.querySelectorAll<HTMLElement>(".field")].some((element) => !element.hidden);
      section.hidden = !some;
      if (words.length && some) section.open = true;
    }
  }

  private row(field: Field): Row {
    const id = `${this.name}-${field.key.replaceAll(".", "-")}`;
    const { inputs, read } = controls(field, id);
    const error = h("span.error", { role: "alert" });
    const reset = h(
      "button.quiet.reset",
      { type: "button", title: "back to the scenario's value", "aria-label": `reset ${field.key}` },
      "↺",
    );
    const echo = h("small.echo");
    const element = h(
      "div.field",
      { "data-key": field.key },
      h("label", { for: id }, field.name.replaceAll("_", " ")),
      h(`div.inputs.${field.kind}`, {}, ...inputs, field.unit && h("span.unit", {}, field.unit), echo, reset),
      h("span.about", {}, [field.about, field.range, field.optional ? "may be empty" : ""].filter(Boolean).join(" · ")),
      error,
    );
    const begun = inputs
      .flatMap((input) => [input, ...input.querySelectorAll("*")])
      .filter((each): each is HTMLInputElement => "value" in each);
    const at = begun.map((input) => [input.value, input.checked] as const);
    const row: Row = {
      field,
      element,
      error,
      read,
      first: null,
      reset: () => begun.forEach((input, i) => ([input.value, input.checked] = at[i]!)),
    };
    row.first = read();
    const say = () => (echo.textContent = asPeopleRead(read(), field.unit));
    say();
    const note = () => {
      say();
      element.classList.toggle("changed", !same(read(), row.first));
      this.changed();
    };
    element.addEventListener("input", note);
    reset.addEventListener("click", () => {
      row.reset();
      note();
    });
    return row;
  }
}

/** "= 15 mm" next to a 0.015 in metres: a bare SI number is easily misread. */
function asPeopleRead(value: unknown, unit: string): string {
  if (typeof value !== "number" || prefixFor(unit, Math.abs(value)).factor === 1) return "";
  return `= ${si(value, unit, 6)}`;
}

function controls(field: Field, id: string): { inputs: HTMLElement[]; read: () => unknown } {
  const { kind, value } = field;
  const box = (shown: unknown, name: string, more: Record<string, string> = {}) =>
    h("input", {
      type: "text",
      inputmode: kind === "text" ? "text" : "decimal",
      autocomplete: "off",
      spellcheck: "false",
      name,
      value: shown === null || shown === undefined ? "" : String(shown),
      ...more,
    });
  if (kind === "choice") {
    const select = h(
      "select",
      { id, name: field.key },
      ...field.choices.map((choice) => h("option", { selected: same(choice, value) }, String(choice))),
    );
    return { inputs: [select], read: () => field.choices[select.selectedIndex] };
  }
  if (kind === "switch") {
    const input = h("input", { id, type: "checkbox", name: field.key, checked: value === true });
    return { inputs: [input], read: () => input.checked };
  }
  if (kind === "vector" || kind === "matrix") {
    const grid = (kind === "vector" ? [value] : value) as unknown[][] | [null];
    const rows = grid.map((row, i) =>
      (row ?? []).map((entry, j) =>
        box(entry, `${field.key}.${i}.${j}`, i + j === 0 ? { id } : { "aria-label": `${field.key} ${i} ${j}` }),
      ),
    );
    if (!rows[0]?.length) return plainJson(box("", field.key, { id }));
    const read = () => {
      const found = rows.map((row) => row.map((input) => typed(input.value)));
      return kind === "vector" ? found[0] : found;
    };
    return { inputs: rows.map((row) => h("div.row", {}, ...row)), read };
  }
  if (kind === "json") return plainJson(box(value === null ? "" : JSON.stringify(value), field.key, { id }));
  const input = box(value, field.key, { id });
  return { inputs: [input], read: () => (kind === "number" ? typed(input.value) : input.value) };
}

function plainJson(input: HTMLInputElement): { inputs: HTMLElement[]; read: () => unknown } {
  const read = () => {
    try {
      return input.value.trim() === "" ? null : (JSON.parse(input.value) as unknown);
    } catch {
      return input.value;
    }
  };
  return { inputs: [input], read };
}
