// Making elements, and readable numbers.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** `h("button.big", { onclick: f }, "text")`: an element with classes, attributes, listeners and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K | `${K}.${string}`,
  attributes?: Attributes,
  ...children: Child[]
): HTMLElementTagNameMap[K];
export function h(tag: string, attributes?: Attributes, ...children: Child[]): HTMLElement;
export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name!);
  if (classes.length) element.className = classes.join(" ");
  fill(element, attributes, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else if (key === "style")
      (element as HTMLElement).style.cssText = String(value); // allowed where the content policy forbids inline styles
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(
    ...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false),
  );
}

export function by(testid: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(`[data-testid="${testid}"]`);
  if (!element) throw new Error(`the page has no element ${testid}`);
  return element;
}

const PREFIXES: Record<number, string> = { [-4]: "p", [-3]: "n", [-2]: "µ", [-1]: "m", 0: "", 1: "k", 2: "M", 3: "G" };

/** A value with a prefix that leaves one to three digits before the decimal point: 0.00455 J is 4.55 mJ. */
export function si(value: number | null | undefined, unit: string, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (unit === "" || unit === "1") return plain(value, digits);
  if (Math.abs(value) < 1e-13) return `0 ${unit}`;
  const power = Math.min(3, Math.max(-4, Math.floor(Math.log10(Math.abs(value)) / 3 + 1e-12)));
  return `${plain(value / 1000 ** power, digits)} ${PREFIXES[power]}${unit}`;
}

// A prefix belongs to the first unit, and a kilogram has one already: 20 mm, 176 kN/m, but 3684 kg·m².
const TAKES_PREFIX = /^(m|s|N|J|W|Hz|rad|V|A)(?![²³\w])/;

/** The practical prefix for a size: 0.02 m as 20 mm. */
export function prefixFor(unit: string, size: number): { prefix: string; factor: number } {
  if (!TAKES_PREFIX.test(unit) || !Number.isFinite(size) || size < 1e-13) return { prefix: "", factor: 1 };
  const power = Math.min(3, Math.max(-3, Math.floor(Math.log10(size) / 3 + 1e-12)));
  return { prefix: PREFIXES[power]!, factor: 1000 ** power };
}

export function plain(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(digits - 1).replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

const ENDINGS: [string, string][] = [
  ["_m_s", "m/s"],
  ["_rad_s", "rad/s"],
  ["_Ns_m", "N·s/m"],
  ["_Ns", "N·s"],
  ["_Nm", "N·m"],
  ["_N_m", "N/m"],
  ["_rad", "rad"],
  ["_m", "m"],
  ["_J", "J"],
  ["_s", "s"],
  ["_N", "N"],
];

/** A metric by its name's ending (`drift_m`, `e_obs_min_J`); lists entry by entry. */
const MOST_VALUES = 8; // shown of a list

export function metric(name: string, value: unknown): string {
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST_VALUES).map((each) => metric(name, each));
    return (value.length > MOST_VALUES ? [...shown, `… ${value.length} in all`] : shown).join(", ") || "none";
  }
  if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
  const unit = ENDINGS.find(([ending]) => name.endsWith(ending))?.[1];
  return unit ? si(value, unit, 4) : plain(value);
}

/** "e_obs_min_J" as words, if there are no better ones. */
export function wordsOf(name: string): string {
  const ending = ENDINGS.find(([each]) => name.endsWith(each))?.[0] ?? "";
  return name.slice(0, name.length - ending.length).replaceAll("_", " ");
}

export function clock(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const sign = seconds < 0 ? "−" : "";
  const total = Math.abs(seconds);
  const minutes = Math.floor(total / 60);
  return minutes ? `${sign}${minutes}:${(total % 60).toFixed(2).padStart(5, "0")}` : `${sign}${total.toFixed(2)} s`;
}
