// The scene: one canvas with four views, drawn only when something has changed.

import * as THREE from "three";
import { by, h } from "../dom";
import { painter, software } from "../painter";
import type { Frame, Scene } from "../protocol";
import { css } from "./colours";
import { View } from "./view";
import { figureOf, World } from "./world";

const WORDS = { solid: "simulated", wire: "real", ghost: "delayed or commanded", static: "" };

export class ScenePanel {
  pictures = 0;
  private canvas = h("canvas", { "aria-hidden": "true" });
  private stage = h("div.stage.empty", {}, this.canvas);
  private legend = h("div.legend");
  private forces = h("div.legend.forces");
  private waiting = h("p.waiting", {}, "The scene appears when a session or a recording is watched.");
  private views: View[];
  private renderer: THREE.WebGLRenderer | null = null;
  private world: World | null = null;
  private scene: Scene | null = null;
  private last: Frame | null = null;
  private large = -1;
  private redraw = painter.add(() => this.draw());

  constructor() {
    this.views = [0, 1, 2, 3].map((i) => new View(i, this.redraw, (index) => this.enlarge(index)));
    this.stage.append(...this.views.map((view) => view.element), this.waiting);
    by("scene").append(this.stage, h("footer.scene-foot", {}, this.forces, this.legend));
    this.stage.addEventListener("contextmenu", (event) => event.preventDefault());
    new ResizeObserver(this.redraw).observe(this.stage);
    this.begin();
  }

  /** Show another scene, or none (null). */
  show(scene: Scene | null): void {
    this.scene = scene;
    this.last = null;
    this.rebuild();
    scene?.views.length && this.views.forEach((view, i) => view.enter(this.world!, i));
    this.enlarge(-1);
  }

  /** Colours have changed. */
  rebuild(): void {
    this.world?.dispose();
    this.world = this.scene && new World(this.scene);
    this.stage.classList.toggle("empty", !this.world);
    if (!this.world) return this.legend.replaceChildren();
    this.views.forEach((view) => view.enter(this.world!, view.viewpoint));
    const seen = new Set<string>();
    const entries = [];
    for (const { id, label, style, colour } of this.scene!.nodes) {
      const thing = label.split(/:|'s /)[0]!.replace(/ \d+$/, ""); // "slave arm: link 3", "robot: elbow", "crank 5"
      if (!thing || /^[2-9]\//.test(id) || seen.has(`${thing}${style}`)) continue;
      seen.add(`${thing}${style}`);
      entries.push(h("span", { title: WORDS[style] }, h(`i.swatch.${style}`, { style: `--paint:${css(colour)}` }), thing));
    }
    if (this.scene!.nodes.some(({ id }) => id.startsWith("2/")))
      entries.push(h("span", {}, h("i.swatch.ghost", { style: `--paint:${css("robot")}` }), "transparent: the recordings after A"));
    if (this.scene!.box)
      entries.push(h("span", {}, h("i.swatch.dashed", { style: `--paint:${css("box")}` }), this.scene!.box.label));
    this.legend.replaceChildren(...entries);
    if (this.last) this.world.pose(this.last.header.t, this.last.scene);
    this.redraw();
  }

  frame(frame: Frame, newRun: boolean): void {
    if (!this.world || frame.header.nodes !== this.scene!.nodes.length) return;
    if (newRun) this.world.clearTrails();
    this.last = frame;
    this.world.pose(frame.header.t, frame.scene);
    this.redraw();
  }

  enlarge(index: number): void {
    this.large = this.large === index ? -1 : index;
    this.stage.classList.toggle("one", this.large >= 0);
    this.views.forEach((view, i) => view.element.classList.toggle("large", i === this.large));
    this.redraw();
  }

  /** Which viewpoint each view shows, and which view is large: for a saved layout. */
  get layout(): { views: number[]; large: number } {
    return { views: this.views.map((view) => view.viewpoint), large: this.large };
  }

  set layout({ views, large }: { views: number[]; large: number }) {
    if (!this.world) return;
    const known = this.scene!.views.length;
    this.views.forEach((view, i) => view.enter(this.world!, views[i]! >= 0 && views[i]! < known ? views[i]! : i));
    this.large = -1;
    this.enlarge(large);
  }

  get readings() {
    return this.world?.readings ?? [];
  }

  private begin(): void {
    try {
      this.renderer = new THREE.WebGLRenderer({
        canvas: this.canvas,
        antialias: !software,
        powerPreference: "high-performance",
      });
      this.renderer.setPixelRatio(software ? 1 : Math.min(2, devicePixelRatio));
      this.renderer.autoClear = false;
    } catch {
      this.waiting.textContent =
        "This browser provides no WebGL, which the scene needs; turn on hardware acceleration, or use another browser.";
    }
  }

  private draw(): void {
    const { renderer } = this;
    if (!renderer || !this.world || document.hidden || !this.stage.offsetParent) return;
    this.render(renderer);
    this.tellForces();
    this.pictures++;
  }

  private render(renderer: THREE.WebGLRenderer): void {
    const frame = this.stage.getBoundingClientRect();
    const size = renderer.getSize(new THREE.Vector2());
    if (size.x !== Math.floor(frame.width) || size.y !== Math.floor(frame.height))
      renderer.setSize(Math.floor(frame.width), Math.floor(frame.height), false);
    renderer.setScissorTest(true);
    for (const view of this.views) {
      const place = view.element.getBoundingClientRect();
      const camera = view.element.offsetParent ? view.camera(place.width, place.height) : null;
      if (!camera) continue;
      const left = place.left - frame.left;
      const bottom = frame.bottom - place.bottom;
      renderer.setViewport(left, bottom, place.width, place.height);
      renderer.setScissor(left, bottom, place.width, place.height);
      renderer.clear();
      renderer.render(this.world!.root, camera);
    }
  }

  private tellForces(): void {
    const readings = this.readings;
    if (this.forces.childElementCount !== readings.length) {
      this.forces.replaceChildren(...readings.map(() => h("span", {}, h("i.swatch.arrow"), h("b"))));
    }
    readings.forEach((reading, i) => {
      const entry = this.forces.children[i] as HTMLElement;
      (entry.firstChild as HTMLElement).style.setProperty("--paint", css(reading.colour));
      entry.lastChild!.textContent = `${reading.label} ${figureOf(reading)}`;
    });
  }
}
