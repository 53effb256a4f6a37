// Scrub through a recording: a bar, play and pause. Only one seek is pending at a time, so fast dragging cannot flood the server.

import type { Client } from "../client";
import { by, clock, h } from "../dom";

const PATIENCE = 400; // [ms] for an answer

export class Scrub {
  private element = by("scrub");
  private bar = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: "any",
    value: 0,
    "aria-label": "time in the recording",
    "data-testid": "scrub-bar",
  });
  private time = h("b.figure", { "data-testid": "scrub-time" });
  private speed = h(
    "select",
    { "aria-label": "speed" },
    ...[0.1, 0.25, 0.5, 1, 2, 5, 10].map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed}×`)),
  );
  private button = h("button", { "data-testid": "play", onclick: () => this.play(!this.playing) }, "Play");
  private playing = false;
  private dragging = false;
  private waiting = 0;
  private next: number | null = null;
  private end = 1;
  seekTimes: number[] = []; // [ms] from request to frame

  constructor(private client: Client) {
    this.element.append(this.button, this.speed, this.bar, this.time);
    this.bar.addEventListener("input", () => this.seek(Number(this.bar.value)));
    this.bar.addEventListener("pointerdown", () => (this.dragging = true));
    for (const kind of ["pointerup", "pointercancel", "blur"]) this.bar.addEventListener(kind, () => (this.dragging = false));
    this.speed.addEventListener("change", () => this.playing && this.play(true));
  }

  watch(span: [number, number] | null): void {
    this.element.hidden = !span;
    this.playing = false;
    this.button.textContent = "Play";
    if (!span) return;
    [this.bar.min, this.bar.max] = [String(span[0]), String(span[1])];
    this.end = span[1];
    this.bar.value = String(span[0]);
    this.seek(span[0]);
  }

  frame(t: number, state: string): void {
    if (this.element.hidden) return;
    if (this.waiting) {
      this.seekTimes.push(performance.now() - this.waiting);
      if (this.seekTimes.length > 200) this.seekTimes.shift();
    }
    this.waiting = 0;
    if (!this.dragging && this.next === null) this.bar.value = String(t);
    this.time.textContent = `${clock(t)} of ${clock(this.end)}`;
    if (this.playing && (state === "PAUSED" || t >= this.end - 1e-9)) {
      this.playing = false;
      this.button.textContent = "Play";
    }
    if (this.next !== null) this.seek(this.next);
  }

  private play(on: boolean): void {
    this.playing = on;
    this.button.textContent = on ? "Pause" : "Play";
    this.client.send(on ? { type: "play", speed: Number(this.speed.value) } : { type: "pause" });
  }

  private seek(t: number): void {
    if (this.waiting && performance.now() - this.waiting < PATIENCE) {
      this.next = t;
      return;
    }
    this.next = null;
    this.waiting = performance.now();
    this.client.send({ type: "seek", t });
  }
}
