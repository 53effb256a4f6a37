// Two sockets to the server, which open again by themselves. Orders go to the helm, in a process that nothing else can hold up;
// pictures come from the back room. Each message is handed to those who asked for its kind.

import { exchanged, forget, hello, keep, key } from "./key";
import { decode, type Frame, type Range, type ServerMessage } from "./protocol";

type Incoming =
  ServerMessage | Frame | Range | { type: "open" } | { type: "closed"; why: string } | { type: "shows" } | { type: "dark" };
type Listener<T extends Incoming["type"]> = (message: Extract<Incoming, { type: T }>) => void;
type Outgoing = { type: string; [key: string]: unknown };

const FIRST_WAIT = 250; // [ms]
const LONGEST_WAIT = 5000;
const SILENCE = 12000; // [ms] without any message: the connection is dead even if nobody has said so
const PING = 3000; // [ms]
const NO_KEY = 4403; // the server does not know this page

/** One socket. */
class Line {
  private taken = false; // the server has taken the key
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;
  private heard = 0;

  constructor(
    private path: string,
    private greeting: "welcome" | "shown",
    private changed: (ready: boolean, why: string) => void,
    private came: (message: Incoming) => void,
  ) {}

  open(): void {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}${this.path}`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(JSON.stringify({ type: "hello", ...hello() }));
    socket.onmessage = ({ data }) => this.message(data as string | ArrayBuffer);
    socket.onclose = (event) => this.again(socket, event);
    this.socket = socket;
    this.heard = performance.now();
  }

  /** What is sent now gets through; a socket that is closing takes nothing any more. */
  get ready(): boolean {
    return this.taken && this.socket?.readyState === WebSocket.OPEN;
  }

  /** Nothing is kept for later while the socket is down: an old "start" must not come true. */
  send(message: Outgoing): void {
    if (this.ready) this.socket!.send(JSON.stringify(message));
  }

  check(): void {
    if (this.ready && performance.now() - this.heard > SILENCE) this.socket!.close();
  }

  private message(data: string | ArrayBuffer): void {
    this.heard = performance.now();
    const message = typeof data === "string" ? (JSON.parse(data) as ServerMessage) : decode(data);
    if (message.type === this.greeting) {
      if (message.type === "welcome") keep(message.key);
      this.taken = true;
      this.wait = FIRST_WAIT;
      this.changed(true, "");
    }
    this.came(message);
  }

  private again(socket: WebSocket, { code, reason }: CloseEvent): void {
    if (socket !== this.socket) return;
    this.taken = false;
    if (code === NO_KEY) forget();
    this.changed(false, code === NO_KEY ? "key" : code === 1013 ? reason : "");
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }
}

export class Client {
  onPing: (id: number) => void = () => {};
  subject = ""; // the session that orders are for
  private listeners = new Map<string, ((message: never) => void)[]>();
  private number = 0;
  private showing = false;
  private helm = new Line(
    "/helm",
    "welcome",
    (ready, why) => {
      this.emit(ready ? { type: "open" } : { type: "closed", why });
      if (ready && !this.showing) this.room.open(); // when there is a key
      this.showing ||= ready;
    },
    (message) => this.emit(message),
  );
  private room = new Line(
    "/ws",
    "shown",
    (ready) => this.emit({ type: ready ? "shows" : "dark" }),
    (message) => this.emit(message),
  );

  /** Whether STOP gets through. */
  get connected(): boolean {
    return this.helm.ready;
  }

  on<T extends Incoming["type"]>(type: T, listener: Listener<T>): void {
    const all = this.listeners.get(type) ?? [];
    this.listeners.set(type, [...all, listener]);
  }

  open(): void {
    this.helm.open();
  }

  /** Pings keep the controls ours and find a dead connection; call once. */
  keepAlive(): void {
    setInterval(() => {
      this.helm.check();
      this.room.check();
      if (this.helm.ready) this.onPing(this.ask({ type: "ping" }));
      this.room.send({ type: "ping", id: 0 });
    }, PING);
  }

  /** To the back room, which shows. */
  send(message: Outgoing): void {
    this.room.send(message);
  }

  /** An order to the helm, with a number of its own, for the session whose state the page shows; not if it shows none. */
  order(message: Outgoing): number {
    const id = ++this.number;
    if (this.subject) this.helm.send({ ...message, session: this.subject, id });
    return id;
  }

  /** For whatever this page attends to, and for the session that it shows. */
  stop(shown: string): number {
    const id = ++this.number;
    this.helm.send({ type: "do", what: "stop", id, ...(shown ? { session: shown } : {}) });
    return id;
  }

  /** At the helm: orders are for this session. */
  attend(session: string): void {
    this.helm.send({ type: "watch", session });
  }

  /** The helm and the back room attend to the same session. */
  watch(what: { session?: string; [key: string]: unknown }): void {
    this.helm.send({ type: "watch", session: what.session ?? null });
    this.room.send({ type: "watch", ...what });
  }

  /** Send with a number of its own, which is returned and comes back with the answer. */
  ask(message: Outgoing): number {
    const id = ++this.number;
    if (message.type === "range") this.room.send({ ...message, id });
    else this.helm.send({ ...message, id });
    return id;
  }

  private emit(message: Incoming): void {
    if (message.type === "pong" && message.id === 0) return;
    for (const listener of this.listeners.get(message.type) ?? []) listener(message as never);
  }
}

async function answerTo(path: string, body?: unknown): Promise<string> {
  await exchanged();
  const headers: Record<string, string> = { authorization: `Bearer ${key()}` };
  const request: RequestInit =
    body === undefined
      ? { headers }
      : { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { credentials: "omit", ...request });
  const text = await response.text();
  if (!response.ok && response.status !== 422) throw new Error(sentenceOf(text) || `the server answered ${response.status}`);
  return text;
}

/** JSON of the server; a refusal becomes an Error with its sentence. */
export async function api<T>(path: string, body?: unknown): Promise<T> {
  return JSON.parse(await answerTo(path, body)) as T;
}

export async function openReport(name: string): Promise<void> {
  await openPage(`/api/report/${encodeURIComponent(name)}`);
}

/** A report in a tab of its own. It comes through us, since a tab has no key; our rules let no script run in it. */
export async function openPage(path: string): Promise<void> {
  const tab = window.open("", "_blank"); // at once: later the browser would take it for unasked
  let text = "";
  try {
    text = await answerTo(path);
  } catch (error) {
    text = `<p>${(error as Error).message.replace(/[<&]/g, "")}</p>`;
  }
  if (tab) tab.location = URL.createObjectURL(new Blob([text], { type: "text/html; charset=utf-8" }));
}

function sentenceOf(text: string): string {
  try {
    const answer = JSON.parse(text) as { errors?: { sentence: string }[] };
    return answer.errors?.map(({ sentence }) => sentence).join(" ") ?? text;
  } catch {
    return text;
  }
}
