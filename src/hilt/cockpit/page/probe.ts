// Measurements of the page itself, for tests and for the browser's console: `window.hilt`.

import type { Client } from "./client";
import type { Latency } from "./panels/latency";
import type { OperatorPanel } from "./panels/operator";
import { percentile } from "./panels/latency";
import type { Scrub } from "./panels/scrub";
import type { PlotsPanel } from "./plots/panel";
import type { Frame } from "./protocol";
import type { ScenePanel } from "./scene/panel";

const WINDOW = 2000; // [ms] over which the rate is measured
const KEPT = 200;

export class Probe {
  frames = 0;
  t = NaN;
  tick = 0;
  run = 0;
  state = "";
  stops: number[] = []; // [ms] from the stop key or button to the state STOPPED
  scene: Float32Array = new Float32Array(0); // numbers of the last frame
  way: () => OperatorPanel["way"] | null = () => null; // a command's way through the delays
  private arrivals: number[] = [];
  private stopAt = 0;

  constructor(
    private client: Client,
    private delays: Latency,
    private panel: ScenePanel,
    private plots: PlotsPanel,
    private scrub: Scrub,
  ) {
    client.on("state", ({ state }) => this.stateIs(state));
    Object.assign(window, { hilt: this });
  }

  get connected(): boolean {
    return this.client.connected;
  }

  /** Frames per second over the last two seconds. */
  get rate(): number {
    const now = performance.now();
    return this.arrivals.filter((at) => now - at < WINDOW).length / (WINDOW / 1000);
  }

  get pictures(): number {
    return this.panel.pictures;
  }

  /** Rows in each plot. */
  get rows(): number[] {
    return this.plots.rows;
  }

  /** Rows kept of the live run. */
  get kept(): number {
    return this.plots.history.length;
  }

  get latency(): { echo: number[]; motion: number[]; p50: number; p95: number; motion_p95: number } {
    const { echo, motion } = this.delays;
    return { echo, motion, p50: percentile(echo, 0.5), p95: percentile(echo, 0.95), motion_p95: percentile(motion, 0.95) };
  }

  get seeks(): number[] {
    return this.scrub.seekTimes;
  }

  frame({ header, scene }: Frame): void {
    this.frames++;
    this.t = header.t;
    this.tick = header.tick;
    this.run = header.run;
    this.scene = scene;
    this.arrivals.push(performance.now());
    if (this.arrivals.length > KEPT) this.arrivals.shift();
    this.stateIs(header.state);
  }

  ordered(what: string, _id: number): void {
    if (what === "stop" && this.state === "LIVE") this.stopAt = performance.now();
  }

  private stateIs(state: string): void {
    this.state = state;
    if (!this.stopAt || state !== "STOPPED") return;
    this.stops.push(performance.now() - this.stopAt);
    if (this.stops.length > KEPT) this.stops.shift();
    this.stopAt = 0;
  }
}
