// The delay as a time line: what is now being sent, arriving at the orbit, and coming back.

import { h, plain } from "../dom";
import { LONGEST, Past } from "./past";

const STEP = 1 / 30; // [s] between two points of the line

export class Timeline {
  readonly element: HTMLElement;
  private canvas = h("canvas");
  private words = h("p.muted");
  private past = new Past();

  constructor() {
    this.element = h("div.timeline", { "data-testid": "time-line" }, this.canvas, this.words);
  }

  /** Note how far the hand is pushed from now on; called many times a second. */
  push(size: number): void {
    this.past.push(performance.now() / 1e3, size);
  }

  /** What was sent `age` seconds ago. */
  ago(age: number): number {
    return this.past.at(performance.now() / 1e3 - age);
  }

  draw(up: number, down: number): void {
    const ratio = Math.min(2, devicePixelRatio);
    const width = this.element.clientWidth;
    const height = 104;
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext("2d")!;
    const style = getComputedStyle(document.documentElement);
    const paint = (name: string) => style.getPropertyValue(name).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const [left, right, top, base] = [38, width - 38, 36, height - 20];
    const shown = Math.min(LONGEST, Math.max(1.15 * (up + down), 2));
    const x = (age: number) => left + (right - left) * (age / shown); // now is on the left: a command travels to the right
    pen.fillStyle = paint("--accent-soft");
    pen.strokeStyle = paint("--accent");
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(x(0), base);
    for (let age = 0; age <= shown; age += STEP) pen.lineTo(x(age), base - (base - top) * Math.min(1, this.ago(age)));
    pen.lineTo(right, base);
    pen.closePath();
    pen.fill();
    pen.stroke();
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    const delayed = up + down > 0.05;
    const marks: [number, string, string][] = delayed
      ? [
          [0, "now, sent", "0 s"],
          [up, "at the orbit", `−${plain(up, 3)} s`],
          [up + down, "back", `−${plain(up + down, 3)} s`],
        ]
      : [[0, "now", "0 s"]];
    for (const [age, title, time] of marks) {
      pen.strokeStyle = paint(age === 0 ? "--accent" : "--muted");
      pen.beginPath();
      pen.moveTo(x(age), 18);
      pen.lineTo(x(age), base + 4);
      pen.stroke();
      pen.fillStyle = paint("--text");
      pen.fillText(title, x(age), 12);
      pen.fillStyle = paint("--muted");
      pen.fillText(time, x(age), height - 4);
    }
    this.words.textContent = delayed
      ? `What you do now is felt at the orbit in ${plain(up, 3)} s and seen here in ${plain(up + down, 3)} s; the solid virtual arm answers at once.`
      : "This run has no delay between the hand and the robot.";
  }
}
