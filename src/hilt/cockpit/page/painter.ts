// When things are drawn: only if they are new, never more often than MOST_A_SECOND, and at most half of the time.
//
// Without a graphics card a picture of the page costs a tenth of a second of processor time, which a loop on the same machine
// wants, too. The time from a drawing to the next frame of the browser tells what it cost; as long again nothing is drawn.

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

  /** Have `draw` called when it is worth it; the function that is returned asks for that. */
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

/** Pictures are made by the processor: fewer pixels, and plots that are not drawn by way of a graphics card that is not there. */
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
