// Geometry from the parts of a node, and how each style is drawn.
//
// solid: lit surfaces; wire: edges only, drawn over the solid; ghost: a transparent surface; static: lit and matt.

import * as THREE from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";
import type { NodePart, SceneNode, Style } from "../protocol";
import { colour } from "./colours";

const ROUND = 20; // facets of a round thing
const ROUND_WIRE = 10;

export function buildNode(node: SceneNode): THREE.Group {
  const group = new THREE.Group();
  const roles = new Map<string, THREE.BufferGeometry[]>();
  for (const part of node.parts) {
    const role = part.colour ?? node.colour;
    roles.set(role, [...(roles.get(role) ?? []), geometry(part, node.style)]);
  }
  for (const [role, pieces] of roles) {
    const merged = pieces.length > 1 ? mergeGeometries(pieces) : pieces[0]!;
    group.add(dress(merged, node.style, role));
    if (merged !== pieces[0]) for (const piece of pieces) piece.dispose();
  }
  return group;
}

/** A surface or its edges, depending on the style. */
export function dress(shape: THREE.BufferGeometry, style: Style, role: string): THREE.Object3D {
  const paint = colour(role);
  if (style === "wire") {
    const edges = new THREE.EdgesGeometry(shape, 1);
    shape.dispose();
    return new THREE.LineSegments(edges, new THREE.LineBasicMaterial({ color: paint }));
  }
  if (style === "ghost") {
    const material = new THREE.MeshBasicMaterial({ color: paint, transparent: true, opacity: 0.28, depthWrite: false });
    const mesh = new THREE.Mesh(shape, material);
    mesh.renderOrder = 2;
    return mesh;
  }
  const material = new THREE.MeshLambertMaterial({ color: paint, side: THREE.DoubleSide });
  material.polygonOffset = true; // so that edges in the same place are visible
  material.polygonOffsetFactor = 1;
  material.polygonOffsetUnits = 1;
  return new THREE.Mesh(shape, material);
}

function geometry(part: NodePart, style: Style): THREE.BufferGeometry {
  let shape = bare(part, style === "wire" ? ROUND_WIRE : ROUND);
  if (shape.index) {
    const flat = shape.toNonIndexed(); // so that all kinds can be merged
    shape.dispose();
    shape = flat;
  }
  shape.deleteAttribute("uv");
  if (part.turn) {
    const [w, x, y, z] = part.turn as [number, number, number, number];
    shape.applyQuaternion(new THREE.Quaternion(x, y, z, w));
  }
  if (part.at) shape.translate(part.at[0]!, part.at[1]!, part.at[2]!);
  return shape;
}

function bare(part: NodePart, facets: number): THREE.BufferGeometry {
  const radius = part.radius ?? 0.01;
  switch (part.shape) {
    case "box":
      return new THREE.BoxGeometry(...(part.size as [number, number, number]));
    case "cylinder":
      return new THREE.CylinderGeometry(radius, radius, part.length, facets).rotateX(Math.PI / 2);
    case "cone":
      return new THREE.ConeGeometry(radius, part.length, facets).rotateX(Math.PI / 2);
    case "sphere":
      return new THREE.SphereGeometry(radius, facets, facets / 2);
    case "tube": {
      const points = part.points!.map((p) => new THREE.Vector3(p[0], p[1], p[2]));
      const path = new THREE.CurvePath<THREE.Vector3>();
      for (let i = 1; i < points.length; i++) path.add(new THREE.LineCurve3(points[i - 1]!, points[i]!));
      return new THREE.TubeGeometry(path, Math.max(2, 4 * points.length), radius, 8);
    }
    case "mesh": {
      const shape = new THREE.BufferGeometry();
      shape.setAttribute("position", new THREE.Float32BufferAttribute(part.vertices!.flat(), 3));
      shape.setIndex(part.faces!.flat());
      const flat = shape.toNonIndexed();
      flat.computeVertexNormals();
      flat.setAttribute("uv", new THREE.Float32BufferAttribute(new Float32Array(2 * flat.attributes.position!.count), 2));
      return flat;
    }
  }
}

/** An arrow of length 1 along z, to be scaled: shaft and head are scaled separately, so that the head keeps its shape. */
export class Arrow {
  readonly group = new THREE.Group();
  private shaft: THREE.Mesh;
  private head: THREE.Mesh;

  constructor(
    role: string,
    private size: number,
  ) {
    const material = new THREE.MeshBasicMaterial({ color: colour(role) });
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(1, 1, 1, 8).rotateX(Math.PI / 2).translate(0, 0, 0.5), material);
    this.head = new THREE.Mesh(new THREE.ConeGeometry(1, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5), material);
    this.group.add(this.shaft, this.head);
    this.group.visible = false;
  }

  point(at: THREE.Vector3, way: THREE.Vector3): void {
    const length = way.length();
    const head = Math.min(0.4 * length, 4 * this.size);
    this.group.visible = length > 0.2 * this.size;
    this.group.position.copy(at);
    this.group.quaternion.setFromUnitVectors(Z, way.normalize());
    this.shaft.scale.set(this.size, this.size, Math.max(length - head, 1e-9));
    this.head.position.z = length - head;
    this.head.scale.set(2.4 * this.size, 2.4 * this.size, Math.max(head, 1e-9));
  }
}

const Z = new THREE.Vector3(0, 0, 1);
