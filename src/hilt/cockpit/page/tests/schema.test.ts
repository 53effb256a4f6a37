import assert from "node:assert/strict";
import test from "node:test";
import { fieldOf, fields, rangeOf, type Schema, typed } from "../panels/schema";

const number = (more: Schema = {}): Schema => ({ type: ["number", "string"], unit: "kg", ...more });
const schema: Schema = {
  $defs: {
    Body: {
      type: "object",
      properties: {
        mass: number({ exclusiveMinimum: 0, description: "of all" }),
        position: { type: "array", prefixItems: [number({ unit: "m" }), number({ unit: "m" })], default: [0, 0] },
        stiffness: { anyOf: [{ ...number({ unit: "N/m" }), gt: 0 }, { type: "null" }], default: null },
        kind: { type: "string", enum: ["a", "b"] },
      },
    },
  },
  properties: {
    system: { type: "string", const: "x" },
    summary: { type: "string" },
    seed: { type: "integer", minimum: 0 },
    body: { $ref: "#/$defs/Body" },
    table: { anyOf: [{ $ref: "#/$defs/Body" }, { type: "null" }] },
  },
};

test("every value of a scenario becomes one field, with unit and range", () => {
  const found = fields(schema, { seed: 1, body: { mass: 30, position: [1, 2], stiffness: null, kind: "b" }, table: null });
  assert.deepEqual(
    found.map(({ key, kind }) => [key, kind]),
    [
      ["seed", "number"],
      ["body.mass", "number"],
      ["body.position", "vector"],
      ["body.stiffness", "number"],
      ["body.kind", "choice"],
      ["table", "json"],
    ],
  );
  const [, mass, position, stiffness] = found;
  assert.deepEqual([mass!.unit, mass!.range, mass!.about, mass!.value, mass!.section], ["kg", "> 0 kg", "of all", 30, "body"]);
  assert.equal(position!.unit, "m");
  assert.deepEqual([stiffness!.optional, stiffness!.range, stiffness!.value], [true, "> 0 N/m", null]);
});

test("ranges are written with all their bounds", () => {
  assert.equal(rangeOf({ minimum: 0, exclusiveMaximum: 1 }, ""), "≥ 0 and < 1");
  assert.equal(rangeOf({}, "s"), "");
  assert.equal(rangeOf({ minimum: 1e-12, maximum: 1e9 }, "m"), "> 0 m");
  assert.equal(rangeOf({ minimum: -1e12, maximum: 1e12 }, ""), "");
});

test("an error of a component belongs to its vector", () => {
  const found = fields(schema, { seed: 1, body: { mass: 30, position: [1, 2] } });
  assert.equal(fieldOf("body.position.1", found)?.key, "body.position");
  assert.equal(fieldOf("elsewhere", found), undefined);
});

test("numbers are numbers, quantities stay as they were typed", () => {
  assert.deepEqual([typed(" 2.5 "), typed("20 ms"), typed("")], [2.5, "20 ms", null]);
});
