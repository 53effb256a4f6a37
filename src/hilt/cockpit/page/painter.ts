// When things are drawn: only if they have changed, at most MOST_A_SECOND times a second and half of the time.
//
// Without a graphics card, drawing the page takes a tenth of a second of CPU time, which a loop on the same machine needs too.
// The time from a drawing to the browser's next frame is its cost; for the same time again nothing is drawn.

const MOST_A_SECOND = 20;

interface Job {
  wanted: boolean;
  gap: number; // [ms]
  due: number;
  draw: () => void;
}

class Painter {
  pictures = 0;
  private jobs: Job[] = [];
  private due = 0;
  private waiting = false;

  /** Register `draw`; the returned function requests a call to it. */
  add(draw: () => void, mostASecond = MOST_A_SECOND): () => void {
    const job: Job = { wanted: false, gap: 1000 / mostASecond, due: 0, draw };
    this.jobs.push(job);
    return () => {
      job.wanted = true;
      this.wake();
    };
  }

  private wake(): void {
    if (this.waiting) return;
    this.waiting = true;
    const first = Math.min(...this.jobs.filter((job) => job.wanted).map((job) => job.due));
    setTimeout(
      () => requestAnimationFrame(() => this.paint()),
      Math.max(0, this.due - performance.now(), first - performance.now()),
    );
  }

  private paint(): void {
    const begun = performance.now();
    for (const job of this.jobs) {
      if (!job.wanted || job.due > begun) continue;
      job.wanted = false;
      job.due = begun + job.gap;
      job.draw();
    }
    this.pictures++;
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const now = performance.now();
        const cost = now - begun - 2 * (1000 / 60);
        this.due = Math.max(begun + 1000 / MOST_A_SECOND, now + Math.min(300, cost));
        this.waiting = false;
        if (this.jobs.some((job) => job.wanted)) this.wake();
      }),
    );
  }
}

export const painter = new Painter();

/** Whether the CPU renders the page: then scenes have fewer pixels, and plots do not go through an emulated graphics card. */
export const software = /swiftshader|llvmpipe|software/i.test(graphics());

if (software) {
  const plain = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement, kind: string, options?: object) {
    return plain.call(this, kind, kind === "2d" ? { willReadFrequently: true, ...options } : options);
  } as typeof plain;
}

function graphics(): string {
  const gl = document.createElement("canvas").getContext("webgl2");
  const named = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = gl && named ? String(gl.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
