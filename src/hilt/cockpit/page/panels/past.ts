// How far the hand was pushed in the last seconds, by the clock, because the timers of a busy page fire late.

const RATE = 30; // [samples a second]
export const LONGEST = 30; // [s]

export class Past {
  private sizes = new Float32Array(LONGEST * RATE);
  private newest = -1;

  /** Note the size that is sent from this time on. */
  push(seconds: number, size: number): void {
    const place = Math.floor(seconds * RATE);
    const before = this.newest < 0 ? 0 : this.sizes[this.newest % this.sizes.length]!;
    // Nothing else was sent since the last push.
    for (let k = Math.max(this.newest + 1, place - this.sizes.length + 1); k < place; k++)
      this.sizes[k % this.sizes.length] = before;
    this.sizes[place % this.sizes.length] = size;
    this.newest = place;
  }

  /** What was sent at this time; 0 before the first push and longer ago than LONGEST. */
  at(seconds: number): number {
    const place = Math.min(Math.floor(seconds * RATE), this.newest);
    return place < 0 || place <= this.newest - this.sizes.length ? 0 : this.sizes[place % this.sizes.length]!;
  }
}
