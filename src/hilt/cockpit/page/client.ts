// Two sockets to the server, which reconnect by themselves. Orders go to the helm, a process that nothing else can hold up;
// pictures come from the back room. Each message goes to the listeners of its type.

import { exchanged, forget, hello, keep, key } from "./key";
import { decode, type Frame, type Range, type ServerMessage } from "./protocol";

type Incoming =
  ServerMessage | Frame | Range | { type: "open" } | { type: "closed"; why: string } | { type: "shows" } | { type: "dark" };
type Listener<T extends Incoming["type"]> = (message: Extract<Incoming, { type: T }>) => void;
type Outgoing = { type: string; [key: string]: unknown };

const FIRST_WAIT = 250; // [ms]
const LONGEST_WAIT = 5000;
const SILENCE = 12000; // [ms] without any message: the connection is taken for dead even if it was not closed
const PING = 3000; // [ms]
const NO_KEY = 4403; // close code: the server does not know this page

/** One socket. */
class Line {
  private taken = false; // the server has accepted the key
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;
  private received = 0; // [ms] time of the last message

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
    this.received = performance.now();
  }

  /** Whether a message sent now gets through; not on a socket that is closing. */
  get ready(): boolean {
    return this.taken && this.socket?.readyState === WebSocket.OPEN;
  }

  /** Send, or drop the message while the socket is down: an old "start" must not be executed later. */
  send(message: Outgoing): void {
    if (this.ready) this.socket!.send(JSON.stringify(message));
  }

  check(): void {
    if (this.ready && performance.now() - this.received > SILENCE) this.socket!.close();
  }

  private message(data: string | ArrayBuffer): void {
    this.received = performance.now();
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
  subject = ""; // the session that orders are meant for
  private listeners = new Map<string, ((message: never) => void)[]>();
  private number = 0;
  private showing = false;
  private helm = new Line(
    "/helm",
    "welcome",
    (ready, why) => {
      this.emit(ready ? { type: "open" } : { type: "closed", why });
      if (ready && !this.showing) this.room.open(); // the back room needs the key
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

  /** Send pings, which keep the controls with this page and detect a dead connection; call once. */
  keepAlive(): void {
    setInterval(() => {
      this.helm.check();
      this.room.check();
      if (this.helm.ready) this.onPing(this.ask({ type: "ping" }));
      this.room.send({ type: "ping", id: 0 });
    }, PING);
  }

  /** Send to the back room, which provides the pictures. */
  send(message: Outgoing): void {
    this.room.send(message);
  }

  /** Send a numbered order to the helm for the session whose state the page shows; nothing is sent if it shows none. */
  order(message: Outgoing): number {
    const id = ++this.number;
    if (this.subject) this.helm.send({ ...message, session: this.subject, id });
    return id;
  }

  /** Stop the session that this page attends to, and the one that it shows. */
  stop(shown: string): number {
    const id = ++this.number;
    this.helm.send({ type: "do", what: "stop", id, ...(shown ? { session: shown } : {}) });
    return id;
  }

  /** Tell the helm which session orders are for. */
  attend(session: string): void {
    this.helm.send({ type: "watch", session });
  }

  /** Make helm and back room attend to the same session. */
  watch(what: { session?: string; [key: string]: unknown }): void {
    this.helm.send({ type: "watch", session: what.session ?? null });
    this.room.send({ type: "watch", ...what });
  }

  /** Send with a new number, which is returned and comes back with the answer. */
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

/** Get JSON from the server; a refusal becomes an Error with its sentence. */
export async function api<T>(path: string, body?: unknown): Promise<T> {
  return JSON.parse(await answerTo(path, body)) as T;
}

export async function openReport(name: string): Promise<void> {
  await openPage(`/api/report/${encodeURIComponent(name)}`);
}

/** Open a report in a new tab. This page fetches it, since a tab has no key; our content policy blocks scripts in it. */
export async function openPage(path: string): Promise<void> {
  const tab = window.open("", "_blank"); // at once: later the browser would block it as a pop-up
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
