// The path of a node over the last seconds, in a fixed amount of memory.

import * as THREE from "three";
import { colour } from "./colours";

const RATE = 20; // [points per second]

export class Trail {
  readonly line: THREE.Line;
  private points: Float32Array;
  private attribute: THREE.BufferAttribute;
  private capacity: number;
  private end = 0;
  private last = -Infinity;

  constructor(seconds: number, role: string) {
    this.capacity = Math.max(2, Math.ceil(seconds * RATE));
    this.points = new Float32Array(2 * this.capacity * 3);
    this.attribute = new THREE.BufferAttribute(this.points, 3).setUsage(THREE.DynamicDrawUsage);
    const shape = new THREE.BufferGeometry().setAttribute("position", this.attribute);
    this.line = new THREE.Line(shape, new THREE.LineBasicMaterial({ color: colour(role) }));
    this.line.frustumCulled = false;
    shape.setDrawRange(0, 0);
  }

  clear(): void {
    this.end = 0;
    this.last = -Infinity;
    this.line.geometry.setDrawRange(0, 0);
  }

  add(t: number, x: number, y: number, z: number): void {
    if (t < this.last) this.clear(); // back in time: another run, or a scrub
    if (t - this.last < 1 / RATE) return;
    this.last = t;
    if (this.end === 2 * this.capacity) {
      this.points.copyWithin(0, 3 * this.capacity);
      this.end = this.capacity;
    }
    this.points.set([x, y, z], 3 * this.end++);
    this.attribute.needsUpdate = true;
    const shown = Math.min(this.end, this.capacity);
    this.line.geometry.setDrawRange(this.end - shown, shown);
  }
}
