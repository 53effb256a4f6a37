// The things of a scene, built once from its description and moved by each frame's numbers.

import * as THREE from "three";
import { plain, si } from "../dom";
import type { Scene } from "../protocol";
import { colour } from "./colours";
import { Arrow, buildNode, dress } from "./shapes";
import { Trail } from "./trail";

const PER_NODE = 8; // x y z  qw qx qy qz  shown
const PER_ARROW = 7; // x y z  fx fy fz  shown

export interface ArrowReading {
  label: string;
  unit: string;
  colour: string;
  size: number;
  shown: boolean;
}

/** "4.74 N", or a dash if there is no value now. */
export function figureOf({ size, unit, shown }: ArrowReading): string {
  if (!shown) return "–";
  return unit === "N" || unit === "N·m" ? `${plain(size, 3)} ${unit}` : si(size, unit);
}

export class World {
  readonly root = new THREE.Scene();
  readonly readings: ArrowReading[];
  private nodes = new Map<string, THREE.Group>();
  private order: THREE.Group[] = [];
  private links: {
    rod: THREE.Object3D;
    from: THREE.Group;
    to: THREE.Group;
    a: THREE.Vector3;
    b: THREE.Vector3;
    radius: number;
  }[] = [];
  private arrows: Arrow[] = [];
  private trails: { trail: Trail; node: THREE.Group }[] = [];
  private a = new THREE.Vector3();
  private b = new THREE.Vector3();

  constructor(readonly scene: Scene) {
    this.root.background = new THREE.Color(colour("background"));
    this.root.add(new THREE.HemisphereLight(0xffffff, 0x8890a0, 1.9));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(3, -4, 6);
    this.root.add(sun);
    for (const node of scene.nodes) {
      const group = buildNode(node);
      this.nodes.set(node.id, group);
      this.order.push(group);
      this.root.add(group);
    }
    for (const link of scene.links) this.addLink(link);
    for (const arrow of scene.arrows) {
      const drawn = new Arrow(arrow.colour, scene.scale_bar * 0.025);
      this.arrows.push(drawn);
      this.root.add(drawn.group);
    }
    for (const { node, seconds, colour: role } of scene.trails) {
      const followed = this.nodes.get(node);
      if (!followed) continue;
      const trail = new Trail(seconds, role);
      this.trails.push({ trail, node: followed });
      this.root.add(trail.line);
    }
    this.readings = scene.arrows.map(({ label, unit, colour: role }) => ({ label, unit, colour: role, size: 0, shown: false }));
    this.addBox();
    this.addGrid();
    this.addAxes();
  }

  node(id: string): THREE.Group | undefined {
    return this.nodes.get(id);
  }

  pose(t: number, numbers: Float32Array): void {
    this.order.forEach((group, i) => {
      const k = i * PER_NODE;
      group.visible = numbers[k + 7]! > 0.5;
      if (!group.visible) return;
      group.position.set(numbers[k]!, numbers[k + 1]!, numbers[k + 2]!);
      group.quaternion.set(numbers[k + 4]!, numbers[k + 5]!, numbers[k + 6]!, numbers[k + 3]!);
      group.updateMatrixWorld();
    });
    this.arrows.forEach((arrow, i) => {
      const k = this.order.length * PER_NODE + i * PER_ARROW;
      const reading = this.readings[i]!;
      const way = this.b.set(numbers[k + 3]!, numbers[k + 4]!, numbers[k + 5]!);
      reading.size = way.length();
      reading.shown = numbers[k + 6]! > 0.5;
      arrow.point(this.a.set(numbers[k]!, numbers[k + 1]!, numbers[k + 2]!), way.multiplyScalar(this.scene.arrows[i]!.scale));
      arrow.group.visible &&= reading.shown;
    });
    for (const { rod, from, to, a, b, radius } of this.links) {
      rod.visible = from.visible && to.visible;
      from.localToWorld(this.a.copy(a));
      to.localToWorld(this.b.copy(b));
      rod.position.copy(this.a);
      rod.up.set(0, 0, 1);
      rod.scale.set(radius, radius, this.a.distanceTo(this.b));
      rod.lookAt(this.b);
    }
    for (const { trail, node } of this.trails) {
      if (node.visible) trail.add(t, node.position.x, node.position.y, node.position.z);
    }
  }

  clearTrails(): void {
    for (const { trail } of this.trails) trail.clear();
  }

  dispose(): void {
    this.root.traverse((thing) => {
      const { geometry, material } = thing as Partial<THREE.Mesh>;
      geometry?.dispose();
      if (material)
        for (const each of [material].flat()) {
          (each as THREE.SpriteMaterial).map?.dispose();
          each.dispose();
        }
    });
  }

  private addLink(link: Scene["links"][number]): void {
    const from = this.nodes.get(link.from);
    const to = this.nodes.get(link.to);
    if (!from || !to) return;
    const facets = link.style === "wire" ? 4 : 8;
    const shape = new THREE.CylinderGeometry(1, 1, 1, facets).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    const rod = dress(shape, link.style, link.colour);
    const point = (p?: number[]) => new THREE.Vector3(...((p ?? [0, 0, 0]) as [number, number, number]));
    this.links.push({ rod, from, to, a: point(link.from_at), b: point(link.to_at), radius: link.radius });
    this.root.add(rod);
  }

  private addBox(): void {
    const { box } = this.scene;
    if (!box) return;
    const low = new THREE.Vector3(...(box.min as [number, number, number]));
    const high = new THREE.Vector3(...(box.max as [number, number, number]));
    const size = high.clone().sub(low);
    const solid = new THREE.BoxGeometry(size.x, size.y, size.z);
    const edges = new THREE.LineSegments(
      new THREE.EdgesGeometry(solid),
      new THREE.LineDashedMaterial({
        color: colour("box"),
        dashSize: 0.2 * this.scene.scale_bar,
        gapSize: 0.14 * this.scene.scale_bar,
      }),
    );
    solid.dispose();
    edges.computeLineDistances();
    edges.position.copy(low.add(high).multiplyScalar(0.5));
    this.root.add(edges);
  }

  private addGrid(): void {
    const { box } = this.scene;
    const span = Math.max(...this.scene.views.map((view) => view.span));
    const power = 10 ** Math.floor(Math.log10(span / 10));
    const cell = power * ([1, 2, 5].find((step) => step * power >= span / 14) ?? 10);
    const half = Math.ceil((0.75 * span) / cell) * cell;
    const points: number[] = [];
    for (let s = -half; s <= half + cell / 2; s += cell) points.push(-half, s, 0, half, s, 0, s, -half, 0, s, half, 0);
    const shape = new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute(points, 3));
    const grid = new THREE.LineSegments(shape, new THREE.LineBasicMaterial({ color: colour("grid") }));
    const up = new THREE.Vector3(...(this.scene.up as [number, number, number])).normalize();
    grid.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), up);
    // Below everything, on the floor of the workspace.
    const floor = box ? Math.min(0, up.dot(this.a.fromArray(box.min)), up.dot(this.b.fromArray(box.max))) : 0;
    // Centred on what the views look at, with lines at whole numbers of cells.
    const targets = this.scene.views
      .filter((view) => view.kind === "fixed")
      .map((view) => new THREE.Vector3().fromArray(view.target));
    const middle = targets
      .reduce((sum, target) => sum.add(target), new THREE.Vector3())
      .divideScalar(Math.max(1, targets.length));
    middle.addScaledVector(up, -up.dot(middle)).divideScalar(cell).round().multiplyScalar(cell);
    grid.position.copy(middle).addScaledVector(up, floor);
    this.root.add(grid);
  }

  private addAxes(): void {
    const length = this.scene.scale_bar;
    const axes = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] } as const;
    const paints = { x: "#d0342c", y: "#2f8f3f", z: "#2f62d0" };
    for (const [name, [x, y, z]] of Object.entries(axes)) {
      const paint = paints[name as keyof typeof paints];
      const tip = [x * length, y * length, z * length] as const;
      const shape = new THREE.BufferGeometry().setAttribute("position", new THREE.Float32BufferAttribute([0, 0, 0, ...tip], 3));
      const letter = writing(name, paint);
      letter.position.set(...tip).multiplyScalar(1.18);
      letter.scale.setScalar(0.34 * length);
      this.root.add(new THREE.Line(shape, new THREE.LineBasicMaterial({ color: paint })), letter);
    }
  }
}

function writing(text: string, paint: string): THREE.Sprite {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const pen = canvas.getContext("2d")!;
  pen.font = "600 52px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = paint;
  pen.fillText(text, 32, 32);
  return new THREE.Sprite(new THREE.SpriteMaterial({ map: new THREE.CanvasTexture(canvas), depthTest: false }));
}
