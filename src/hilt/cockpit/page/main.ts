// The cockpit's page: what is watched, and which panel gets which message.

import { Client, api } from "./client";
import { by } from "./dom";
import { MapsPanel } from "./maps/panel";
import { EnergyPanel } from "./panels/energy";
import { Latency } from "./panels/latency";
import { OperatorPanel } from "./panels/operator";
import { ParametersPanel } from "./panels/parameters";
import { RecordingsPanel } from "./panels/recordings";
import { LETTERS, ResultPanel } from "./panels/result";
import { ScenariosPanel } from "./panels/scenarios";
import { Scrub } from "./panels/scrub";
import { TimingPanel } from "./panels/timing";
import { TopBar } from "./panels/topbar";
import { PlotsPanel } from "./plots/panel";
import { Probe } from "./probe";
import type { RunResult, Watching } from "./protocol";
import { useDark } from "./scene/colours";
import { ScenePanel } from "./scene/panel";
import { Tabs } from "./tabs";
import { isDark, startTheme } from "./theme";

type Wish = { session: string } | { recording: string } | { recordings: string[]; align: string };

const client = new Client();
const latency = new Latency();
let watching: Watching | null = null;
let wish: Wish | null = wishOfAddress();
let run = NaN;
let automatic = false; // the page itself chose what to watch: the tab stays as the user left it

startTheme(by("theme"), () => {
  useDark(isDark());
  scene.rebuild();
  plots.rebuild();
  maps.draw();
});
useDark(isDark());

const scene = new ScenePanel();
const plots = new PlotsPanel(client, isDark, { take: () => scene.layout, give: (layout) => (scene.layout = layout) });
const energy = new EnergyPanel();
const timing = new TimingPanel(client);
const parameters = new ParametersPanel(client);
const scrub = new Scrub(client);
const result = new ResultPanel((recording) => watch({ recording }));
const probe = new Probe(client, latency, scene, plots, scrub);
const bar = new TopBar(
  client,
  (session) => watch({ session }),
  (what, id) => probe.ordered(what, id),
);
const scenarios = new ScenariosPanel(
  (title) => bar.starting(title),
  (session) => watch({ session }),
);
const recordings = new RecordingsPanel(
  (recording) => watch({ recording }),
  (names, align) => watch({ recordings: names, align }),
);
const maps = new MapsPanel(isDark, (recording) => watch({ recording }));
const tabs = new Tabs({
  scenarios: () => void scenarios.enter(),
  maps: () => void maps.enter(),
  recordings: () => void recordings.enter(),
  operator: () => by("joystick").focus({ preventScroll: true }),
});

const operator = new OperatorPanel(client, {
  active: () => tabs.shown === "operator" && bar.state?.state === "LIVE",
  holds: () => bar.state?.you_hold ?? false,
  delays: () => {
    const link = watching && !Array.isArray(watching.info) && (watching.info.values?.link as { delay?: number } | undefined);
    const { up_delay, down_delay } = timing.link ?? { up_delay: 0, down_delay: 0 }; // 0 until the first packet arrives
    return [up_delay || (link && link.delay) || 0, down_delay || (link && link.delay) || 0];
  },
  forces: () => scene.readings,
  latency,
});
probe.way = () => operator.way;

client.on("welcome", ({ role }) => {
  for (const name of ["operator", "scenarios"] as const) tabs.allow(name, role === "control");
  maps.allow(role === "control");
});
client.on("open", () => {
  by("banner").hidden = true;
  document.body.classList.remove("offline");
  if (wish && "session" in wish) client.attend(wish.session); // STOP first; pictures follow
});

client.on("shows", () => {
  by("dark").hidden = true;
  if (!wish) bar.watch("", "");
  void bar.refresh().then(() => {
    // Nothing was chosen: show the live run, or else the first session.
    const only = bar.sessions.find(({ state }) => state === "LIVE") ?? bar.sessions[0];
    if (!wish && only) watch({ session: only.name }, true);
    else if (!wish && !bar.sessions.length && tabs.shown === "live" && !bar.watchOnly) tabs.show("scenarios");
  });
  if (wish) watch(wish);
});

client.on("dark", () => {
  by("dark").hidden = document.body.classList.contains("offline");
});

client.on("closed", ({ why }) => {
  bar.lost();
  by("dark").hidden = true;
  document.body.classList.add("offline");
  const banner = by("banner");
  banner.hidden = false;
  banner.textContent =
    why === "key"
      ? "The server does not know this page: a link is valid for five minutes and for one page. Print a new one with hilt cockpit --link. The STOP button does not reach the loop."
      : why
        ? `${why} The STOP button of this page does not reach the loop.`
        : "The server does not answer. The run continues without it, but the STOP button does not reach the loop: use the robot's emergency stop. Trying again…";
});

client.on("watching", (message) => {
  const again = watching !== null && sameThing(watching, message);
  watching = message;
  run = NaN;
  if (!again) tabs.watch(message, automatic);
  latency.watch(message.scene);
  if (!again) scene.show(message.scene);
  energy.clear();
  timing.clear(message.session ? undefined : "Timing of the recorded run appears with its rows.");
  bar.watch(message.session ?? "", titleOf(message), labelOf(message));
  if (message.session && message.result && !Array.isArray(message.result)) bar.ended(message.result.verdict ?? null);
  parameters.clear(
    message.session ? "Live parameters appear with the state of the session." : "A recording has no live parameters.",
  );
  plots.watch(message, again);
  scrub.watch(message.session ? null : (message.span ?? null));
  void showResult(message);
});

client.on("state", (state) => parameters.show(state.live));
client.on("steered", ({ id }) => latency.steeredBy(id));
client.on("ledger", (ledger) => energy.show(ledger));
client.on("result", (message) => {
  result.show(message, true);
  bar.ended(message.verdict ?? null);
});

client.on("frame", (frame) => {
  const newRun = frame.header.run !== run;
  if (newRun && Number.isFinite(run)) result.wait();
  run = frame.header.run;
  latency.frame(frame);
  probe.frame(frame);
  scene.frame(frame, newRun);
  plots.frame(frame, newRun);
  scrub.frame(frame.header.t, frame.header.state);
});

window.addEventListener("keydown", (event) => {
  const typing = (event.target as HTMLElement).matches?.("input:not([type=range]), textarea, select");
  if (!typing && !event.ctrlKey && !event.altKey && !event.metaKey && /^Digit[1-4]$/.test(event.code) && tabs.seesScene)
    scene.enlarge(Number(event.code[5]) - 1);
});

window.addEventListener("hashchange", () => {
  const next = wishOfAddress();
  if (next) watch(next);
});

client.keepAlive();
client.open();

function watch(next: Wish, byItself = false): void {
  wish = next;
  automatic = byItself;
  bar.opening("session" in next ? next.session : "recording" in next ? next.recording : next.recordings.join(" and "));
  client.watch(next);
  const address = new URL(location.href);
  address.hash =
    "session" in next
      ? `session=${next.session}`
      : "recording" in next
        ? `recording=${next.recording}`
        : `compare=${next.recordings.join(",")}`;
  history.replaceState(null, "", address);
}

function wishOfAddress(): Wish | null {
  const wanted = new URLSearchParams(location.hash.slice(1) || location.search);
  const [session, recording, compare] = [wanted.get("session"), wanted.get("recording"), wanted.get("compare")?.split(",")];
  if (session) return { session };
  if (recording) return { recording };
  return compare && compare.length > 1 ? { recordings: compare, align: wanted.get("align") ?? "first-contact" } : null;
}

function sameThing(a: Watching, b: Watching): boolean {
  return a.session === b.session && a.recording === b.recording && String(a.recordings) === String(b.recordings);
}

function titleOf(message: Watching): string {
  if (message.session) return "";
  const info = [message.info].flat().map(({ system, scenario }) => `${system} · ${scenario}`);
  return message.recordings
    ? `Comparing ${message.recordings.map((name, i) => `${LETTERS[i]} ${name}`).join(", ")}.`
    : `Recording ${message.recording}: ${info[0]}.`;
}

/** A short name that tells a session from others of its kind: "docking · table1 · 14554". */
function labelOf({ session, info }: Watching): string {
  if (!session || Array.isArray(info)) return "";
  const { system, scenario } = info;
  return [system, scenario, session.replace(`-${system}-${scenario}`, "")].join(" · ");
}

async function showResult(message: Watching): Promise<void> {
  const names = message.recordings ?? (message.recording ? [message.recording] : []);
  if (!names.length)
    return message.result && !Array.isArray(message.result) ? result.show(message.result, true) : result.wait();
  result.wait("Reading the result…");
  try {
    const found = await Promise.all(names.map((name) => api<RunResult>(`/api/recordings/${encodeURIComponent(name)}`)));
    const words = Object.assign({}, ...[message.result].flat().map((each) => each?.words ?? {})) as Record<string, string>;
    const results = found.map((each, i) => ({ ...each, words, recording: names[i]! }));
    if (watching !== message) return;
    if (results.length > 1) result.compare(results, names, message.differences ?? []);
    else result.show(results[0]!, false);
  } catch (error) {
    result.wait((error as Error).message);
  }
}
