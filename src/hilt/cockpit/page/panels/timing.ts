// Timing of the loop: rate, lateness, overruns, rows lost, the link's delay and loss.

import type { Client } from "../client";
import { by, h, plain, si, svg } from "../dom";
import type { LinkFigures, Timing } from "../protocol";

const [WIDTH, HEIGHT, FOOT] = [260, 74, 12];

export class TimingPanel {
  link: LinkFigures | null = null;
  private element = by("timing");
  private figures = h("dl.figures");
  private histogram = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT + FOOT}`,
    role: "img",
    "aria-label": "histogram of lateness",
    class: "histogram",
  });
  private waiting = h("p.waiting", {}, "Timing appears with the first rows of a run.");
  private sent = new Map<number, number>();
  private roundTrip = NaN;

  constructor(client: Client) {
    client.on("timing", (timing) => this.show(timing));
    client.on("pong", ({ id }) => {
      const at = this.sent.get(id);
      if (at !== undefined) this.roundTrip = performance.now() - at;
      this.sent.clear();
    });
    client.onPing = (id) => this.sent.set(id, performance.now());
    this.clear();
  }

  clear(text = "Timing appears with the first rows of a run."): void {
    this.waiting.textContent = text;
    this.link = null;
    this.element.replaceChildren(h("h2", {}, "Timing"), this.waiting);
  }

  private show(timing: Timing): void {
    if (this.waiting.isConnected) this.element.replaceChildren(h("h2", {}, "Timing"), this.figures, this.histogram);
    this.link = timing.link;
    const late = timing.lateness_us;
    const micro = (value: number | undefined) => (value === undefined ? "–" : si(value * 1e-6, "s"));
    const link = (delay: number | null, lost: number | null) => `${si(delay, "s")}, ${lost ?? "–"} lost`;
    const rows: [string, string, boolean?][] = [
      ["rate", `${plain(timing.rate_hz, 4)} Hz`],
      ["period", si(timing.period, "s")],
      ["p50", micro(late?.p50)],
      ["p99", micro(late?.p99)],
      ["worst", micro(late?.max)],
      ["tick", micro(timing.tick_us?.p99)],
      ["overruns", String(timing.overruns), timing.overruns > 0],
      ["rows lost", String(timing.lost), timing.lost > 0],
    ];
    if (timing.link) {
      rows.push(["link up", link(timing.link.up_delay, timing.link.up_lost)]);
      rows.push(["link down", link(timing.link.down_delay, timing.link.down_lost)]);
    }
    rows.push(["page ↔ server", si(this.roundTrip * 1e-3, "s", 2)]);
    this.figures.replaceChildren(
      ...rows.map(([name, value, bad]) => h("div", {}, h("dt", {}, name), h(bad ? "dd.bad" : "dd", {}, value))),
    );
    this.draw(late);
  }

  private draw(late: Timing["lateness_us"]): void {
    if (!late?.counts.length) return this.histogram.replaceChildren();
    const most = Math.log1p(Math.max(...late.counts));
    const pitch = WIDTH / late.counts.length;
    const bars = late.counts.map((count, i) => {
      const height = count ? Math.max(1.5, (Math.log1p(count) / most) * (HEIGHT - 4)) : 0;
      const from = late.edges[i];
      const bar = svg("rect", { x: i * pitch + 0.5, y: HEIGHT - height, width: Math.max(0.5, pitch - 1), height });
      bar.append(svg("title", {}, `${count} ticks from ${plain(from, 3)} µs`));
      return bar;
    });
    const edge = (index: number) => si((late.edges[index] ?? NaN) * 1e-6, "s");
    const last = late.edges.length - 1;
    this.histogram.replaceChildren(
      ...bars,
      svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
      ...[0, 0.5, 1].map((at) => {
        const anchor = at === 0 ? "start" : at === 1 ? "end" : "middle";
        return svg("text", { x: at * WIDTH, y: HEIGHT + FOOT - 2, "text-anchor": anchor }, edge(Math.round(at * last)));
      }),
      svg("text", { x: WIDTH, y: 9, "text-anchor": "end" }, "lateness, log count"),
    );
  }
}
