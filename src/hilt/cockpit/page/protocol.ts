// The messages between server and page, and the decoder of the binary ones.

export interface NodePart {
  shape: "box" | "cylinder" | "cone" | "sphere" | "tube" | "mesh";
  size?: number[];
  radius?: number;
  length?: number;
  points?: number[][];
  vertices?: number[][];
  faces?: number[][];
  at?: number[];
  turn?: number[];
  colour?: string;
}

export type Style = "solid" | "wire" | "ghost" | "static";

export interface SceneNode {
  id: string;
  label: string;
  style: Style;
  colour: string;
  parts: NodePart[];
}

export interface SceneLink {
  id: string;
  from: string;
  to: string;
  from_at?: number[];
  to_at?: number[];
  radius: number;
  style: Style;
  colour: string;
}

export interface SceneArrow {
  id: string;
  label: string;
  unit: string;
  scale: number;
  colour: string;
}

export interface Viewpoint {
  name: string;
  kind: "fixed" | "node";
  node?: string;
  eye: number[];
  target: number[];
  up: number[];
  span: number;
}

export interface Scene {
  nodes: SceneNode[];
  links: SceneLink[];
  arrows: SceneArrow[];
  trails: { node: string; seconds: number; colour: string }[];
  box: { min: number[]; max: number[]; label: string } | null;
  views: Viewpoint[];
  up: number[];
  scale_bar: number;
}

export interface Signal {
  name: string;
  unit: string;
  frame: string;
  meaning: string;
}

export interface PlotChoice {
  title: string;
  unit: string;
  signals: string[];
  labels: string[];
}

export interface LiveParameter {
  key: string;
  unit: string;
  value: number;
  low: number | null;
  high: number | null;
  ramp: number;
  meaning: string;
}

export interface Info {
  system: string;
  scenario: string;
  values?: Record<string, unknown>;
  period?: number;
  duration?: number;
  rig?: string | null;
  live?: LiveParameter[];
}

export type Metrics = Record<string, unknown>;

/** The outcome of a run. */
export interface Verdict {
  kind: "met" | "missed" | "diverged" | "stopped" | "no contact" | "not judged";
  sentence: string;
}

/** One key of the scenarios of several runs, and its value in each. */
export interface Difference {
  key: string;
  values: string[];
}

export interface RunResult {
  metrics?: Metrics;
  reasons?: Record<string, string>; // of metrics that could not be computed
  words?: Record<string, string>;
  fault?: string | null;
  verdict?: Verdict | null;
  recording?: string;
}

export interface Watching {
  type: "watching";
  session?: string;
  recording?: string;
  recordings?: string[];
  info: Info | Info[];
  scene: Scene | null;
  signals: Signal[];
  presets: { name: string; plots: PlotChoice[] }[];
  differences?: Difference[];
  span?: [number, number];
  result?: RunResult | RunResult[] | null;
}

export interface State {
  type: "state";
  session: string;
  state: "OFF" | "READY" | "LIVE" | "STOPPED";
  armed: boolean;
  run: number;
  sentence: string;
  writing: boolean; // the recording of a finished run is being written
  holder: string | null;
  you_hold: boolean;
  watchers: number;
  live: LiveParameter[];
}

export interface Port {
  name: string;
  meaning: string;
  into: number;
  out: number;
  watched: boolean;
}

export interface Ledger {
  type: "ledger";
  t: number;
  ports: Port[];
  stored: number;
  stored_at_start: number;
}

export interface LinkFigures {
  up_delay: number | null; // [s]
  up_lost: number | null; // packets
  down_delay: number | null;
  down_lost: number | null;
}

export interface Timing {
  type: "timing";
  rate_hz: number;
  period: number;
  rows: number;
  lost: number;
  lateness_us: { edges: number[]; counts: number[]; p50: number; p99: number; max: number } | null;
  tick_us: { p50: number; p99: number; max: number } | null;
  overruns: number;
  link: LinkFigures | null;
}

export type Result = RunResult & { type: "result" };
export type Answer = { type: "answer"; id: number; accepted: boolean; text: string };
export type Refused = { type: "refused"; text: string };

export type Role = "control" | "watch";

export type ServerMessage =
  | { type: "welcome"; you: string; role: Role; key?: string }
  | { type: "shown" }
  | { type: "steered"; id: number }
  | Watching
  | State
  | Ledger
  | Timing
  | Result
  | Answer
  | Refused
  | { type: "pong"; id: number };

export interface FrameHeader {
  type: "frame";
  t: number;
  tick: number;
  state: string;
  run: number;
  nodes: number;
  arrows: number;
  plots: { names: string[]; n: number; t0: number } | null;
}

/** Buckets of several signals on one time grid. */
export interface Samples {
  names: string[];
  t0: number;
  times: Float32Array;
  lows: Float32Array[];
  highs: Float32Array[];
}

export interface Frame {
  type: "frame";
  header: FrameHeader;
  scene: Float32Array;
  samples: Samples;
}

export interface Range {
  type: "range";
  id: number;
  full: boolean;
  samples: Samples;
}

/** A binary message: u32 length of a JSON header, the header, float32 numbers (as views, without a copy). */
export function decode(buffer: ArrayBuffer): Frame | Range {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const numbers = new Float32Array(buffer, 4 + length);
  if (header.type === "range") {
    return { type: "range", id: header.id, full: header.full, samples: samples(numbers, header) };
  }
  const scene = numbers.subarray(0, 8 * header.nodes + 7 * header.arrows);
  const plots = header.plots ?? { names: [], n: 0, t0: 0 };
  return { type: "frame", header, scene, samples: samples(numbers.subarray(scene.length), plots) };
}

function samples(numbers: Float32Array, { names, n, t0 }: { names: string[]; n: number; t0: number }): Samples {
  const take = (k: number) => numbers.subarray(k * n, (k + 1) * n);
  return {
    names,
    t0,
    times: take(0),
    lows: names.map((_, i) => take(1 + 2 * i)),
    highs: names.map((_, i) => take(2 + 2 * i)),
  };
}
