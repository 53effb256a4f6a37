// The bar that is always shown: state, who holds the controls, which orders are possible now, and stop.
//
// Stop is sent on press, not on release; by the space bar anywhere but in a text field, by Escape everywhere; without confirmation
// and without holding the controls.

import { api, type Client } from "../client";
import { by, h } from "../dom";
import type { State, Verdict } from "../protocol";
import { moodOf } from "./result";

interface Session {
  name: string;
  system: string;
  scenario: string;
  state: string;
  armed: boolean;
  rig: string | null;
}

const NEXT: Record<string, string> = {
  OFF: "This session is not running; pick another one or start a scenario.",
  READY: "Ready: arm, then start.",
  ARMED: "Armed: start, or drive home; reset disarms.",
  LIVE: "Running. Space bar or Escape stops it.",
  WRITING: "Stopped: the recording is being written…",
  STOPPED: "Reset to be ready again.",
};

// A finished run, by its verdict. Until that arrives the run is ENDED, or STOPPED by a fault.
const ENDS: Record<Verdict["kind"], string> = {
  met: "GOAL MET",
  missed: "GOAL MISSED",
  diverged: "DIVERGED",
  stopped: "STOPPED",
  "no contact": "NOT TOUCHED",
  "not judged": "ENDED",
};

export class TopBar {
  sessions: Session[] = [];
  private badge = by("state");
  private picker = by("session-list") as HTMLSelectElement;
  private fault = by("fault");
  private hint = by("hint");
  private holder = by("holder");
  private take = by("take") as HTMLButtonElement;
  private stop = by("stop");
  private buttons = new Map(["arm", "start", "reset", "home", "quit"].map((what) => [what, by(what) as HTMLButtonElement]));
  private passing = 0;
  private notice = "";
  private watched = "";
  private label = ""; // readable name of the watched session
  private shown: State | null = null; // of the watched session
  private beginning = ""; // a session that is being started
  private verdict: Verdict | null = null; // on the finished run
  private picking = false; // the list must not change while it is open
  watchOnly = false;
  private last: State | null = null; // of any session: it may arrive before the first picture

  constructor(
    private client: Client,
    private pick: (session: string) => void,
    private ordered: (what: string, id: number) => void,
  ) {
    for (const [what, button] of this.buttons) button.addEventListener("click", () => this.order(what));
    this.take.addEventListener("click", () => client.order({ type: this.state?.you_hold ? "release" : "take" }));
    this.stop.addEventListener("pointerdown", () => this.halt());
    this.stop.addEventListener("click", (event) => event.detail === 0 && this.halt()); // by keyboard or by a script
    window.addEventListener("keydown", (event) => this.key(event), { capture: true });
    this.picker.addEventListener("pointerdown", () => (this.picking = true));
    this.picker.addEventListener("blur", () => (this.picking = false));
    this.picker.addEventListener("change", () => {
      this.picking = false;
      if (this.picker.value) this.pick(this.picker.value);
    });
    client.on("state", (state) => this.show(state));
    client.on("welcome", ({ role }) => {
      this.watchOnly = role === "watch";
      document.body.classList.toggle("watch-only", this.watchOnly);
      this.paint();
    });
    client.on("refused", ({ text }) => this.note(text));
    client.on("answer", ({ accepted, text }) => !accepted && text && this.note(text));
    setInterval(() => void this.refresh(), 2000);
  }

  /** State of the session that orders are for; null while another one is being started. */
  get state(): State | null {
    return this.beginning ? null : this.shown;
  }

  /** The server is gone: the state of the run is unknown, and it takes no orders. */
  lost(): void {
    this.shown = this.last = null;
    this.paint();
    this.badge.textContent = "NO CONTACT";
    this.hint.textContent = "";
  }

  /** Show that a session or a recording is being opened. */
  opening(name: string): void {
    this.notice = `Opening ${name}…`;
    this.shown = null;
    this.paint();
    this.badge.textContent = "OPENING";
  }

  /** A session is being started, and the next order is meant for it: release the one that is shown; only STOP still reaches it. */
  starting(title: string): void {
    if (title && this.state?.you_hold) this.client.order({ type: "release" });
    this.beginning = title;
    this.paint();
  }

  /** What is watched has changed; `session` is "" for recordings. */
  watch(session: string, title: string, label = ""): void {
    this.watched = session;
    this.label = label;
    this.verdict = null;
    this.shown = session && this.last?.session === session ? this.last : null;
    this.notice = title;
    this.paint();
    this.list();
  }

  /** Set the verdict on the finished run, or null. */
  ended(verdict: Verdict | null): void {
    this.verdict = verdict;
    this.paint();
  }

  async refresh(): Promise<void> {
    if (document.hidden || !this.client.connected) return;
    try {
      this.sessions = await api<Session[]>("/api/sessions");
      this.list();
    } catch {
      // The banner of the socket says when the server is gone.
    }
  }

  /** Show a sentence for some seconds. */
  note(text: string): void {
    clearTimeout(this.passing);
    this.hint.textContent = text;
    this.hint.classList.add("note");
    this.passing = window.setTimeout(() => {
      this.passing = 0;
      this.paint();
    }, 6000);
  }

  halt(): void {
    const id = this.client.stop(this.watched);
    this.ordered("stop", id);
    this.stop.classList.add("pressed");
    setTimeout(() => this.stop.classList.remove("pressed"), 250);
    if (!this.client.connected)
      this.note("STOP could not be sent: the page is not connected. Use the emergency stop of the robot.");
  }

  private order(what: string): void {
    if (!this.state?.you_hold) this.client.order({ type: "take" }); // the server refuses if another page holds them
    this.ordered(what, this.client.order({ type: "do", what }));
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === "Enter" && target.matches?.("input[type=checkbox]")) return target.click(); // because the space bar stops the run
    const types = target.matches?.(
      "textarea, [contenteditable], input:not([type=checkbox]):not([type=range]):not([type=radio])",
    );
    if (event.key !== "Escape" && (event.code !== "Space" || types)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) this.halt();
    if (event.key === "Escape") target.blur(); // closes a list, too
  }

  private show(state: State): void {
    this.last = state;
    if (state.session !== this.watched) return;
    this.shown = state;
    if (state.state !== "STOPPED") this.verdict = null;
    this.paint();
    const listed = this.sessions.find(({ name }) => name === state.session);
    if (!listed || listed.state === state.state) return;
    listed.state = state.state;
    this.list();
  }

  private paint(): void {
    const { state } = this;
    const armed = state?.state === "READY" && state.armed;
    const over = state?.state === "STOPPED" ? this.verdict : null;
    const word = over ? ENDS[over.kind] : state?.state === "STOPPED" && !state.sentence ? "ENDED" : state?.state;
    this.badge.textContent = state ? (armed ? "READY · armed" : word!) : this.watched ? "…" : "REPLAY";
    this.badge.dataset.mood = over ? moodOf(over.kind) : state?.state === "STOPPED" && state.sentence ? "bad" : "plain";
    this.badge.dataset.session = state?.session ?? "";
    this.badge.dataset.state = state ? (armed ? "ARMED" : state.state) : "NONE";
    if (!this.watched && !this.notice) this.badge.textContent = "NO SESSION";
    if (this.beginning) this.badge.textContent = "STARTING";
    this.client.subject = state?.session ?? "";
    this.arming(state);
    const ready = state?.state === "READY";
    const may: Record<string, boolean> = {
      arm: !!ready && !armed,
      start: !!armed,
      reset: (state?.state === "STOPPED" && !state.writing) || !!armed,
      home: !!armed,
      quit: !!state && state.state !== "LIVE" && state.state !== "OFF" && !state.writing,
    };
    for (const [what, button] of this.buttons) button.disabled = !may[what] || this.watchOnly;
    this.take.disabled = !state || this.watchOnly;
    this.take.textContent = state?.you_hold ? "Release controls" : "Take controls";
    this.holder.textContent = this.watchOnly
      ? "watch only: you can stop, not steer"
      : !state
      ? ""
      : state.you_hold
        ? "you hold the controls"
        : state.holder
          ? `${state.holder} holds the controls`
          : "nobody holds the controls";
    this.holder.title = state ? `${state.watchers} watching` : "";
    const sentence = over ? over.sentence : state && state.state !== "LIVE" ? state.sentence : "";
    this.fault.textContent = sentence;
    this.fault.dataset.mood = over ? moodOf(over.kind) : "bad";
    this.fault.hidden = !sentence;
    if (this.passing) return;
    this.hint.classList.remove("note");
    if (this.beginning) {
      this.hint.textContent = `Starting ${this.beginning}…${this.watched ? ` STOP still reaches ${this.watched}.` : ""}`;
      return;
    }
    const rig = this.sessions.find(({ name }) => name === state?.session)?.rig;
    this.hint.textContent = state
      ? `${NEXT[armed ? "ARMED" : state.writing ? "WRITING" : state.state] ?? ""}${rig ? ` On ${rig}.` : ""}`
      : this.notice || "Pick a session, start a scenario, or open a recording.";
  }

  /** Show on the button which session it arms: two of a kind are easily confused. */
  private arming(state: State | null): void {
    const arm = this.buttons.get("arm")!;
    const which = state ? this.label || state.session : "";
    arm.title = state ? `arm ${state.session}` : "";
    if (arm.dataset.which === which) return;
    arm.dataset.which = which;
    arm.replaceChildren("Arm", h("small", {}, which));
  }

  private list(): void {
    const entries = this.sessions.map(({ name, system, scenario, state, rig }) => ({
      value: name,
      text: `${system} · ${scenario} · ${state} · ${name.replace(`-${system}-${scenario}`, "")}${rig ? ` · ${rig}` : ""}`,
    }));
    if (this.watched && !entries.some(({ value }) => value === this.watched))
      entries.unshift({ value: this.watched, text: this.watched });
    const first = { value: "", text: this.watched ? "other…" : entries.length ? "choose a session…" : "no session is running" };
    const wanted = JSON.stringify([first, entries, this.watched]);
    if (this.picker.dataset.list === wanted || this.picking) return;
    this.picker.dataset.list = wanted;
    this.picker.replaceChildren(
      ...[first, ...entries].map(({ value, text }) => h("option", { value, selected: value === this.watched }, text)),
    );
  }
}
