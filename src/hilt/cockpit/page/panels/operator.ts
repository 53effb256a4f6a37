// The operator's panel: joystick, dead man's switch, command and delay.
//
// While the switch is held the input is sent RATE times a second. The loop stops softly when it receives nothing for a while, so a
// page that is closed, hidden or hung cannot continue to steer.

import type { Client } from "../client";
import { by, h, plain } from "../dom";
import { painter } from "../painter";
import { type ArrowReading, figureOf } from "../scene/world";
import { Hand } from "./hand";
import { type Latency, percentile } from "./latency";
import { Timeline } from "./timeline";

const RATE = 30; // [1/s]
const LEAST_GAP = 15; // [ms] between two messages
const REFUSED_FOR = 2500; // [ms]; the server repeats a refusal once a second
const AXES = ["x", "y", "z", "turn x", "turn y", "turn z"];

export interface Surroundings {
  active: () => boolean; // the panel is shown and a run can be steered
  holds: () => boolean; // this page has the controls
  delays: () => [number, number]; // up and down [s]
  forces: () => ArrowReading[];
  latency: Latency;
}

export class OperatorPanel {
  readonly hand = new Hand();
  private timeline = new Timeline();
  private knob = h("i.knob");
  private pad = h(
    "div.pad",
    {
      "data-testid": "joystick",
      role: "application",
      tabindex: 0,
      "aria-label": "joystick: drag, or hold F and use the arrow keys",
    },
    h("u.x", {}, "x"),
    h("u.y", {}, "y"),
    this.knob,
  );
  private lift = h("input.lift", {
    type: "range",
    min: -1,
    max: 1,
    step: 0.02,
    value: 0,
    "aria-label": "z, springs back",
    orient: "vertical",
  });
  private deadMan = h(
    "button.dead-man",
    { "data-testid": "dead-man", title: "the run is steered only while this, the pad, the key F or a bumper is held" },
    "Hold to drive",
  );
  private bars = AXES.map((name) => ({ name, bar: h("i"), value: h("b.figure") }));
  private forces = h("dl.figures");
  private reaction = h("p.muted", { "data-testid": "latency" });
  private sentAt = 0;
  private wasHeld = false;
  private leaving = false;
  private wantsControls = 0;
  private steers: number[] = []; // numbers of the last steer messages
  private refused = { at: 0, text: "" };
  private axes = [0, 0, 0, 0, 0, 0];
  private redraw = painter.add(() => this.show(), 10);

  constructor(
    private client: Client,
    private around: Surroundings,
  ) {
    const bars = this.bars.map(({ name, bar, value }) =>
      h("div.axis", {}, h("span", {}, name), h("div.meter", {}, bar), value),
    );
    by("operator").append(
      h("div.sticks", {}, this.pad, h("label.lift-box", {}, "z", this.lift), this.deadMan),
      h(
        "p.muted",
        {},
        "Drag the pad, or hold F and use the arrow keys (Page Up and Down: z; I K J L U O: turn), or a gamepad with a bumper held. Letting go stops both arms.",
      ),
      h("h2", {}, "Command"),
      h("div.axes", {}, ...bars),
      this.forces,
      h("h2", {}, "Delay"),
      this.timeline.element,
      this.reaction,
    );
    this.listen();
    client.on("answer", ({ id, accepted, text }) => {
      if (!accepted && this.steers.includes(id)) this.refused = { at: performance.now(), text };
    });
    setInterval(() => this.tick(), 1000 / RATE);
  }

  /** The delays, and the share of a full push that is now being sent, arriving at the orbit, and coming back. */
  get way(): { up: number; down: number; sent: number; arrives: number; back: number } {
    const [up, down] = this.around.delays();
    const { timeline } = this;
    return { up, down, sent: timeline.ago(0), arrives: timeline.ago(up), back: timeline.ago(up + down) };
  }

  private listen(): void {
    const { pad, lift, deadMan, hand } = this;
    pad.addEventListener("pointerdown", (event) => {
      pad.setPointerCapture(event.pointerId);
      hand.hold("pad", true);
      this.aim(event);
    });
    pad.addEventListener("pointermove", (event) => pad.hasPointerCapture(event.pointerId) && this.aim(event));
    const release = () => {
      hand.hold("pad", false);
      hand.pad = [0, 0];
      this.tick();
    };
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) pad.addEventListener(kind, release);
    lift.addEventListener("input", () => (hand.lift = Number(lift.value)));
    const spring = () => ([lift.value, hand.lift] = ["0", 0]);
    for (const kind of ["pointerup", "pointercancel", "blur"]) lift.addEventListener(kind, spring);
    deadMan.addEventListener("pointerdown", (event) => {
      deadMan.setPointerCapture(event.pointerId);
      hand.hold("button", true);
      this.tick();
    });
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"]) {
      deadMan.addEventListener(kind, () => {
        hand.hold("button", false);
        this.tick();
      });
    }
    deadMan.addEventListener("contextmenu", (event) => event.preventDefault());
    const key = (event: KeyboardEvent, down: boolean) => {
      const typing = (event.target as HTMLElement).matches?.("input:not([type=range]), textarea, select");
      if (down && (!this.around.active() || typing || event.ctrlKey || event.metaKey || event.altKey)) return;
      if (!hand.key(event.code, down) || !this.around.active()) return;
      if (hand.held) event.stopPropagation(); // the arrow keys steer, and do not turn a view or change the tab
      if (hand.held || !(event.target as HTMLElement).closest?.(".view")) event.preventDefault();
      if (!event.repeat) this.tick();
    };
    window.addEventListener("keydown", (event) => key(event, true), { capture: true });
    window.addEventListener("keyup", (event) => key(event, false), { capture: true });
    const letGo = () => {
      hand.letGo();
      this.tick();
    };
    window.addEventListener("blur", letGo);
    window.addEventListener("pagehide", () => (this.leaving = true)); // send nothing more: the loop stops softly
    window.addEventListener("pageshow", () => (this.leaving = false));
    document.addEventListener("visibilitychange", () => document.hidden && letGo());
  }

  private aim(event: PointerEvent): void {
    const box = this.pad.getBoundingClientRect();
    const radius = box.width / 2;
    const [x, y] = [(event.clientX - box.left) / radius - 1, 1 - (event.clientY - box.top) / radius];
    const size = Math.max(1, Math.hypot(x, y));
    this.hand.pad = [x / size, y / size];
    if (performance.now() - this.sentAt > LEAST_GAP) this.tick();
  }

  private tick(): void {
    const { hand } = this;
    const axes = hand.axes(navigator.getGamepads?.() ?? []);
    const may = this.around.active();
    if (hand.held && may && !this.around.holds() && performance.now() - this.wantsControls > 1000) {
      this.wantsControls = performance.now();
      this.client.order({ type: "take" });
    }
    const drives = may && hand.held;
    if (this.around.holds() && (drives || this.wasHeld) && !this.leaving) {
      // The last message of a drive says that the switch was released; silence would be a fault.
      this.sentAt = performance.now();
      const id = this.client.order({ type: "steer", axes: drives ? axes : axes.map(() => 0), held: drives });
      this.around.latency.steered(id, axes);
      this.steers = [...this.steers.slice(-2 * RATE), id];
      this.wasHeld = drives;
    }
    const goes = drives && this.around.holds();
    const size = Math.max(Math.hypot(...axes.slice(0, 3)), Math.hypot(...axes.slice(3)));
    this.timeline.push(goes ? Math.min(1, size) : 0);
    this.axes = axes;
    if (this.pad.offsetParent) this.redraw();
  }

  private status(may: boolean): string {
    if (!may) return "Nothing to drive: start a run";
    if (!this.hand.held) return "Hold to drive";
    if (!this.around.holds()) return "Waiting for the controls";
    return this.refused.text && performance.now() - this.refused.at < REFUSED_FOR
      ? `Not driven: ${this.refused.text}`
      : "Driving";
  }

  private show(): void {
    const { axes } = this;
    const may = this.around.active();
    this.knob.style.transform = `translate(${48 * axes[0]!}%, ${-48 * axes[1]!}%)`;
    this.pad.classList.toggle("held", this.hand.held);
    this.deadMan.classList.toggle("held", this.hand.held);
    this.deadMan.textContent = this.status(may);
    this.bars.forEach(({ bar, value }, i) => {
      const size = axes[i]!;
      bar.style.left = `${size < 0 ? 50 + 50 * size : 50}%`;
      bar.style.width = `${50 * Math.abs(size)}%`;
      value.textContent = `${(100 * size).toFixed(0).replace("-", "−")} %`;
    });
    this.forces.replaceChildren(
      ...this.around.forces().map((reading) => h("div", {}, h("dt", {}, reading.label), h("dd", {}, figureOf(reading)))),
    );
    const [up, down] = this.around.delays();
    this.timeline.draw(up, down);
    const { echo, motion } = this.around.latency;
    const ms = (samples: number[], share: number) => (samples.length ? `${plain(percentile(samples, share), 3)} ms` : "–");
    this.reaction.textContent = echo.length
      ? `Hand to virtual arm, measured here: p50 ${ms(echo, 0.5)}, p95 ${ms(echo, 0.95)} of ${echo.length}; first motion ${ms(motion, 0.95)} of ${motion.length}.`
      : "Hand to virtual arm: measured here once you drive.";
  }
}
