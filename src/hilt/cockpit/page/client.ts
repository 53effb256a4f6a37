// The socket to the server: opens again by itself, hands each message to those who asked for its kind.

import { decode, type Frame, type Range, type ServerMessage } from "./protocol";

type Incoming = ServerMessage | Frame | Range | { type: "open" } | { type: "closed"; retry: number };
type Listener<T extends Incoming["type"]> = (message: Extract<Incoming, { type: T }>) => void;

const FIRST_WAIT = 250; // [ms]
const LONGEST_WAIT = 5000;
const SILENCE = 12000; // [ms] without any message: the connection is dead even if nobody has said so

export class Client {
  onPing: (id: number) => void = () => {};
  private socket: WebSocket | null = null;
  private listeners = new Map<string, ((message: never) => void)[]>();
  private wait = FIRST_WAIT;
  private heard = 0;
  private number = 0;

  get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  on<T extends Incoming["type"]>(type: T, listener: Listener<T>): void {
    const all = this.listeners.get(type) ?? [];
    this.listeners.set(type, [...all, listener]);
  }

  open(): void {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}/ws`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.heard = performance.now();
      this.emit({ type: "open" });
    };
    socket.onmessage = ({ data }) => {
      this.heard = performance.now();
      this.emit(typeof data === "string" ? (JSON.parse(data) as ServerMessage) : decode(data as ArrayBuffer));
    };
    socket.onclose = () => this.again(socket);
    this.socket = socket;
  }

  /** Pings keep the controls ours and find a dead connection; call once. */
  keepAlive(): void {
    setInterval(() => {
      if (!this.connected) return;
      if (performance.now() - this.heard > SILENCE) this.socket!.close();
      else this.onPing(this.ask({ type: "ping" }));
    }, 3000);
  }

  /** Nothing is kept for later while the socket is down: an old "start" must not come true. */
  send(message: { type: string; [key: string]: unknown }): void {
    if (this.connected) this.socket!.send(JSON.stringify(message));
  }

  /** Send with a number of its own, which is returned and comes back with the answer. */
  ask(message: { type: string; [key: string]: unknown }): number {
    const id = ++this.number;
    this.send({ ...message, id });
    return id;
  }

  private again(socket: WebSocket): void {
    if (socket !== this.socket) return;
    this.emit({ type: "closed", retry: this.wait });
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  private emit(message: Incoming): void {
    for (const listener of this.listeners.get(message.type) ?? []) listener(message as never);
  }
}

/** JSON of the server; a refusal becomes an Error with its sentence. */
export async function api<T>(path: string, body?: unknown): Promise<T> {
  const request: RequestInit =
    body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, { credentials: "same-origin", ...request });
  const text = await response.text();
  if (!response.ok && response.status !== 422) throw new Error(sentenceOf(text) || `the server answered ${response.status}`);
  return JSON.parse(text) as T;
}

function sentenceOf(text: string): string {
  try {
    const answer = JSON.parse(text) as { errors?: { sentence: string }[] };
    return answer.errors?.map(({ sentence }) => sentence).join(" ") ?? text;
  } catch {
    return text;
  }
}
