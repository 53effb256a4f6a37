// One of the four views: its camera, its controls, turning and zooming.

import * as THREE from "three";
import { h, si } from "../dom";
import type { Viewpoint } from "../protocol";
import type { World } from "./world";

const CLOSEST = 0.05;
const FARTHEST = 8;

export class View {
  readonly element: HTMLElement;
  private picker = h("select", { "aria-label": "viewpoint", onchange: () => this.look(this.picker.selectedIndex) });
  private bar = h("span.scale-bar", {}, h("i"), h("b"));
  private flat = new THREE.OrthographicCamera(-1, 1, 1, -1, -1000, 1000);
  private deep = new THREE.PerspectiveCamera(50, 1, 0.005, 1000);
  private chosen = 0;
  private world: World | null = null;
  private turn = 0;
  private tilt = 0;
  private zoom = 1;
  private shift = new THREE.Vector2();
  private pointers = new Map<number, { x: number; y: number }>();

  constructor(
    readonly index: number,
    private changed: () => void,
    enlarge: (index: number) => void,
  ) {
    this.element = h(
      "div.view",
      {
        "data-testid": `view-${index}`,
        tabindex: 0,
        role: "group",
        "aria-label": `view ${index + 1}: drag to turn, wheel to zoom, double click to enlarge`,
      },
      h(
        "div.view-head",
        {},
        this.picker,
        h(
          "button.quiet",
          {
            title: `enlarge or shrink (key ${index + 1})`,
            "aria-label": `enlarge view ${index + 1}`,
            onclick: () => enlarge(index),
          },
          "⤢",
        ),
      ),
      this.bar,
    );
    const listen = <K extends keyof HTMLElementEventMap>(kind: K, act: (event: HTMLElementEventMap[K]) => void) =>
      this.element.addEventListener(kind, act, { passive: false });
    listen("wheel", (event) => {
      event.preventDefault();
      this.scale(Math.exp(0.0012 * event.deltaY));
    });
    listen("dblclick", (event) => event.target === this.element && enlarge(index));
    listen("pointerdown", (event) => this.grab(event));
    listen("pointermove", (event) => this.drag(event));
    for (const kind of ["pointerup", "pointercancel"] as const) listen(kind, (event) => this.pointers.delete(event.pointerId));
    listen("keydown", (event) => this.key(event));
  }

  /** Show a new world from viewpoint `chosen`. */
  enter(world: World, chosen: number): void {
    this.world = world;
    this.picker.replaceChildren(...world.scene.views.map((view) => h("option", {}, view.name)));
    this.look(chosen % Math.max(1, world.scene.views.length));
  }

  get viewpoint(): number {
    return this.chosen;
  }

  private look(index: number): void {
    this.chosen = index;
    this.picker.selectedIndex = index;
    this.turn = this.tilt = 0;
    this.zoom = 1;
    this.shift.set(0, 0);
    this.changed();
  }

  private scale(factor: number): void {
    this.zoom = Math.min(FARTHEST, Math.max(CLOSEST, this.zoom * factor));
    this.changed();
  }

  private grab(event: PointerEvent): void {
    if (event.target !== this.element) return;
    this.element.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  private drag(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const dx = now.x - before.x;
    const dy = now.y - before.y;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (other) this.scale(distance(before, other) / Math.max(1, distance(now, other)));
    else if (event.shiftKey || event.buttons === 2) {
      const height = this.element.clientHeight || 1;
      this.shift.x -= (dx / height) * this.zoom;
      this.shift.y += (dy / height) * this.zoom;
    } else {
      this.turn -= 0.008 * dx;
      this.tilt += 0.008 * dy;
    }
    this.changed();
  }

  private key(event: KeyboardEvent): void {
    if (event.target !== this.element) return;
    const turns: Record<string, [number, number]> = {
      ArrowLeft: [0.1, 0],
      ArrowRight: [-0.1, 0],
      ArrowUp: [0, 0.1],
      ArrowDown: [0, -0.1],
    };
    const step = turns[event.key];
    if (step) [this.turn, this.tilt] = [this.turn + step[0], this.tilt + step[1]];
    else if (event.key === "+" || event.key === "=") this.zoom = Math.max(CLOSEST, 0.85 * this.zoom);
    else if (event.key === "-") this.zoom = Math.min(FARTHEST, this.zoom / 0.85);
    else return;
    event.preventDefault();
    this.changed();
  }

  /** Return the camera for a picture of this size; also sets the scale bar. */
  camera(width: number, height: number): THREE.Camera | null {
    const view = this.world?.scene.views[this.chosen];
    if (!this.world || !view || !width || !height) return null;
    const { eye, target, up } = this.placed(view);
    const span = view.span * this.zoom;
    // `span` is the extent seen across the shorter side, so that a view shows the same in any window.
    const metresPerPixel = span / Math.min(width, height);
    this.showScale(metresPerPixel, width);
    const flat = view.kind === "fixed";
    const camera = flat ? this.flat : this.deep;
    if (flat) {
      const halfWidth = 0.5 * width * metresPerPixel;
      const halfHeight = 0.5 * height * metresPerPixel;
      Object.assign(this.flat, { left: -halfWidth, right: halfWidth, top: halfHeight, bottom: -halfHeight });
      const far = 20 * view.span + eye.distanceTo(target);
      Object.assign(this.flat, { near: -far, far });
    } else {
      const away = Math.max(1e-3, eye.distanceTo(target));
      this.deep.fov = Math.min(140, (360 / Math.PI) * Math.atan((0.5 * height * metresPerPixel) / away));
      this.deep.aspect = width / height;
      this.deep.near = 0.01 * away;
      this.deep.far = 200 * away;
    }
    camera.updateProjectionMatrix();
    camera.up.copy(up);
    camera.position.copy(eye);
    camera.lookAt(target);
    const sideways = new THREE.Vector3(this.shift.x, this.shift.y, 0)
      .multiplyScalar(view.span)
      .applyQuaternion(camera.quaternion);
    camera.position.add(sideways);
    camera.updateMatrixWorld();
    return camera;
  }

  private placed(view: Viewpoint): { eye: THREE.Vector3; target: THREE.Vector3; up: THREE.Vector3 } {
    const [eye, target, up] = [view.eye, view.target, view.up].map((p) => new THREE.Vector3().fromArray(p)) as [
      THREE.Vector3,
      THREE.Vector3,
      THREE.Vector3,
    ];
    const arm = eye.clone().sub(target);
    const axis = up.clone().normalize();
    const pole = new THREE.Vector3().fromArray(this.world!.scene.up).normalize();
    if (view.kind === "fixed" && Math.abs(arm.clone().normalize().dot(pole)) < 0.98) axis.copy(pole);
    const side = new THREE.Vector3().crossVectors(axis, arm).normalize();
    const tilt = new THREE.Quaternion().setFromAxisAngle(side, -this.tilt);
    const turn = new THREE.Quaternion().setFromAxisAngle(axis, this.turn);
    for (const way of [arm, up]) way.applyQuaternion(tilt).applyQuaternion(turn);
    eye.copy(target).add(arm);
    const node = view.kind === "node" && view.node ? this.world!.node(view.node) : undefined;
    if (node) {
      node.localToWorld(eye);
      node.localToWorld(target);
      up.applyQuaternion(node.quaternion);
    }
    return { eye, target, up };
  }

  private showScale(metresPerPixel: number, width: number): void {
    const most = metresPerPixel * Math.min(110, 0.3 * width);
    const power = 10 ** Math.floor(Math.log10(most));
    const metres = [5, 2, 1].map((step) => step * power).find((step) => step <= most) ?? power;
    (this.bar.firstChild as HTMLElement).style.width = `${metres / metresPerPixel}px`;
    const text = metres >= 1 ? `${metres} m` : si(metres, "m");
    if (this.bar.lastChild!.textContent !== text) this.bar.lastChild!.textContent = text;
  }
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
