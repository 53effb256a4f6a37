// The energy ledger as a picture of the loop: energy at each port [J], red where it is made.
//
// Top: from the world through the sensor to the body; bottom: from the body through the robot back to the world.
// `into` is what a port gave to the simulated body, `out` what it took; only the world may give more than it takes.

import { by, h, si, svg } from "../dom";
import type { Ledger, Port } from "../protocol";

const ORDER = ["environment", "sensor", "compensation", "controller", "integrator", "rotation", "sampling", "delay"];
const TITLES: Record<string, string> = { environment: "world", delay: "robot", sampling: "hold", compensation: "compens." };
const SMALL = 1e-6; // share of the energy exchanged; a port with less makes nothing
const [HEIGHT, BOX] = [148, 44];

export function net(port: Port): number {
  return port.into - port.out;
}

/** Whether a port other than the world gave more energy than it took. */
export function makes(port: Port, exchanged: number): boolean {
  return port.name !== "environment" && net(port) > SMALL * exchanged;
}

export class EnergyPanel {
  private picture = svg("svg", { role: "img", "aria-label": "energy at the ports of the loop" });
  private beside = h("ul.beside");
  private balance = h("p.balance");
  private waiting = h("p.waiting", {}, "The ledger appears when a run is watched.");
  private element = by("ledger");
  private width = 300;
  private last: Ledger | null = null;

  constructor() {
    this.clear();
    new ResizeObserver(() => this.last && this.element.clientWidth && this.show(this.last)).observe(this.element);
  }

  clear(): void {
    this.last = null;
    this.element.replaceChildren(h("h2", {}, "Energy"), this.waiting);
  }

  show(ledger: Ledger): void {
    this.last = ledger;
    if (this.waiting.isConnected) this.element.replaceChildren(h("h2", {}, "Energy"), this.picture, this.balance, this.beside);
    const rank = ({ name }: Port) => (ORDER.includes(name) ? ORDER.indexOf(name) : 5.5);
    const ports = ledger.ports.filter((port) => !port.watched).sort((a, b) => rank(a) - rank(b));
    const exchanged = Math.max(1e-12, ...ports.map((port) => Math.max(Math.abs(port.into), Math.abs(port.out))));
    const largest = Math.max(1e-12, ...ports.map((port) => Math.abs(net(port))));
    this.width = Math.max(240, this.element.clientWidth - 20);
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    const half = Math.ceil(ports.length / 2);
    const shown = ports.map((port, i) => {
      const above = i < half;
      const count = above ? half : ports.length - half;
      const place = above ? i : ports.length - 1 - i; // around the loop: to the right above, to the left below
      const pitch = this.width / count;
      return this.port(port, pitch * place + 3, above ? 0 : HEIGHT - BOX, pitch - 6, above, exchanged, largest);
    });
    const change = ledger.stored - ledger.stored_at_start;
    const made = ports.filter((port) => makes(port, exchanged)).reduce((sum, port) => sum + net(port), 0);
    this.picture.replaceChildren(...this.loop(), this.store(ledger.stored, change), ...shown);
    const rest = change - ports.reduce((sum, port) => sum + net(port), 0);
    this.balance.replaceChildren(
      h(made > 0 ? "b.made" : "b", {}, made > 0 ? `the loop made ${si(made, "J")}` : "the loop makes no energy"),
      h(
        "span",
        { title: "change of the stored energy minus the sum of the ports" },
        `ledger closes to ${si(Math.abs(rest), "J", 2)}`,
      ),
    );
    this.beside.replaceChildren(
      ...ledger.ports
        .filter((port) => port.watched)
        .map((port) =>
          h(
            "li",
            { title: port.meaning },
            h("span", {}, port.name),
            h("b", {}, si(net(port), "J")),
            h("small", {}, ` in ${si(port.into, "J")}, out ${si(port.out, "J")}`),
          ),
        ),
    );
  }

  private loop(): SVGElement[] {
    const y = [BOX + 12, HEIGHT - BOX - 12] as const;
    return [
      svg("rect", { class: "loop", x: 14, y: y[0], width: this.width - 28, height: y[1] - y[0], rx: 14 }),
      svg("path", { class: "way", d: `M ${this.width * 0.25} ${y[0] - 4} l 8 4 l -8 4 z` }),
      svg("path", { class: "way", d: `M ${this.width * 0.75} ${y[1] - 4} l -8 4 l 8 4 z` }),
    ];
  }

  private store(stored: number, change: number): SVGElement {
    const middle = HEIGHT / 2;
    return svg(
      "g",
      { class: "store" },
      svg("rect", { x: this.width / 2 - 84, y: middle - 17, width: 168, height: 34, rx: 6 }),
      svg("text", { x: this.width / 2, y: middle - 2, class: "figure" }, `stored ${si(stored, "J", 4)}`),
      svg(
        "text",
        { x: this.width / 2, y: middle + 12, class: "small" },
        `${change > 1e-13 ? "+" : ""}${si(change, "J")} since the start`,
      ),
    );
  }

  private port(
    port: Port,
    x: number,
    y: number,
    width: number,
    above: boolean,
    exchanged: number,
    largest: number,
  ): SVGElement {
    const value = net(port);
    const red = makes(port, exchanged);
    const bar = (Math.abs(value) / largest) * (width / 2 - 6);
    const middle = x + width / 2;
    const tip = above ? BOX + 1 : HEIGHT - BOX - 1;
    const inward = (above ? 1 : -1) * (value >= 0 ? 1 : -1); // towards the loop when the port gives energy
    const base = value >= 0 ? tip : tip + (above ? 9 : -9);
    return svg(
      "g",
      { class: red ? "port made" : port.name === "environment" ? "port world" : "port" },
      svg("title", {}, `${port.meaning}: into the body ${si(port.into, "J", 4)}, out of it ${si(port.out, "J", 4)}`),
      svg("rect", { x, y, width, height: BOX, rx: 5 }),
      svg("text", { x: middle, y: y + 13, class: "name" }, titleOf(port.name, width)),
      svg("text", { x: middle, y: y + 27, class: width < 62 ? "figure narrow" : "figure" }, `${value > 1e-13 ? "+" : ""}${si(value, "J")}`),
      svg(
        "text",
        { x: middle, y: y + 37, class: "small" },
        width > 96 ? `in ${si(port.into, "J", 2)} · out ${si(port.out, "J", 2)}` : "",
      ),
      svg("rect", {
        class: "bar",
        x: value >= 0 ? middle : middle - bar,
        y: y + BOX - 4,
        width: Math.max(bar, 0.5),
        height: 3,
      }),
      Math.abs(value) > 1e-3 * largest &&
        svg("path", { class: "arrow", d: `M ${middle - 6} ${base} l 12 0 l -6 ${9 * inward} z` }),
    );
  }
}

function titleOf(name: string, width: number): string {
  const title = TITLES[name] ?? name.replaceAll("_", " ");
  const most = Math.floor(width / 5.6);
  return title.length > most ? `${title.slice(0, most - 1)}…` : title;
}
