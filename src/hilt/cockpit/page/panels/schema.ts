// From a JSON schema and the values of a scenario to the fields of a form. No elements here.

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  properties?: Record<string, Schema>;
  prefixItems?: Schema[];
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  description?: string;
  unit?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  gt?: number;
  ge?: number;
  lt?: number;
  le?: number;
}

export type Kind = "number" | "text" | "choice" | "switch" | "vector" | "matrix" | "json";

export interface Field {
  key: string; // "body.mass"
  section: string; // "body"
  name: string; // "mass"
  kind: Kind;
  unit: string;
  range: string; // "> 0 kg"
  about: string;
  optional: boolean; // may be left empty
  choices: unknown[];
  value: unknown;
}

export function fields(schema: Schema, values: Record<string, unknown>): Field[] {
  const found: Field[] = [];
  walk(schema, values, [], "", schema.$defs ?? {}, found);
  return found;
}

function walk(raw: Schema, value: unknown, path: string[], about: string, defs: Record<string, Schema>, found: Field[]): void {
  const { schema, optional } = resolve(raw, defs);
  const words = raw.description ?? about;
  if (schema.properties) {
    if (optional && (value === null || value === undefined))
      return (found.push(field(path, { ...schema, type: "json" }, null, words, true)), undefined);
    for (const [name, child] of Object.entries(schema.properties)) {
      if (path.length === 0 && (name === "system" || name === "summary")) continue;
      walk(child, (value as Record<string, unknown> | null | undefined)?.[name], [...path, name], "", defs, found);
    }
  } else if (schema.const === undefined) found.push(field(path, schema, value ?? raw.default, words, optional, raw));
}

/** Follow references, and resolve "this or null". */
function resolve(schema: Schema, defs: Record<string, Schema>): { schema: Schema; optional: boolean } {
  if (schema.$ref) return resolve({ ...defs[schema.$ref.split("/").at(-1)!] }, defs);
  const some = schema.anyOf?.filter((each) => each.type !== "null");
  if (some?.length === 1) return { schema: resolve(some[0]!, defs).schema, optional: some.length < schema.anyOf!.length };
  return { schema, optional: false };
}

function field(path: string[], schema: Schema, value: unknown, about: string, optional: boolean, raw: Schema = schema): Field {
  const item = schema.prefixItems?.[0];
  const inner = item?.prefixItems?.[0] ?? item ?? schema;
  const unit = inner.unit === "1" ? "" : (inner.unit ?? "");
  return {
    key: path.join("."),
    section: path.length > 1 ? path.slice(0, -1).join(".") : "",
    name: path.at(-1)!,
    kind: kindOf(schema),
    unit,
    range: rangeOf({ ...inner, ...limits(raw) }, unit),
    about,
    optional,
    choices: schema.enum ?? [],
    value: value ?? null,
  };
}

function kindOf(schema: Schema): Kind {
  const types = [schema.type ?? []].flat();
  if (schema.enum) return "choice";
  if (types.includes("boolean")) return "switch";
  if (types.includes("number") || types.includes("integer")) return "number";
  if (types.includes("string")) return "text";
  if (schema.prefixItems?.[0]?.prefixItems) return "matrix";
  return schema.prefixItems ? "vector" : "json";
}

function limits(schema: Schema): Partial<Schema> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, gt, ge, lt, le } = schema;
  return Object.fromEntries(
    Object.entries({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, gt, ge, lt, le }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

const [NEAR_ZERO, FAR] = [1e-6, 1e6]; // bounds beyond these only keep formulas from overflowing

/** "≥ 0 s", "> 0 and < 1". */
export function rangeOf(schema: Partial<Schema>, unit: string): string {
  const bounds: [string, number | undefined][] = [
    ["≥", schema.minimum ?? schema.ge],
    [">", schema.exclusiveMinimum ?? schema.gt],
    ["≤", schema.maximum ?? schema.le],
    ["<", schema.exclusiveMaximum ?? schema.lt],
  ];
  const parts = bounds
    .filter(([, bound]) => bound !== undefined && Math.abs(bound) < FAR)
    .map(([sign, bound]) => (bound! > 0 && bound! <= NEAR_ZERO ? [">", 0] : [sign, bound]));
  const text = parts.map(([sign, bound]) => `${sign} ${bound}`).join(" and ");
  return text && unit ? `${text} ${unit}` : text;
}

/** Input as the server expects it: a number if it is one, else the text with its unit; null for "". */
export function typed(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The field that an error belongs to: the key itself, or its longest prefix that is a field. */
export function fieldOf(key: string, all: Field[]): Field | undefined {
  return all
    .filter((each) => key === each.key || key.startsWith(`${each.key}.`))
    .sort((a, b) => b.key.length - a.key.length)[0];
}
