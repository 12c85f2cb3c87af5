import { expect, test } from "vitest";
import { withComponents } from "./component-schemas.ts";
import type { DocumentSchema, OpenApiDocument } from "./document.ts";

const RUN: DocumentSchema = {
  title: "Run",
  type: "object",
  properties: { id: { type: "string" }, title: { type: "string" } },
};

function documentOf(...schemas: readonly DocumentSchema[]): OpenApiDocument {
  const responses = schemas.map((schema, at) => [
    String(200 + at),
    { content: { "application/json": { schema } } },
  ]);
  const get = { responses: Object.fromEntries(responses) as Record<string, never> };
  return { info: { title: "Test", version: "1" }, paths: { "/runs": { get } } };
}

test("a schema with a title is a component that all refer to", () => {
  const made = withComponents(documentOf(RUN, { type: "array", items: RUN }));
  const { title, ...rest } = RUN;
  expect(made.components?.schemas).toEqual({ [title ?? ""]: rest });
  const { responses } = made.paths?.["/runs"]?.["get"] ?? {};
  const reference = { $ref: "#/components/schemas/Run" };
  expect(responses?.["200"]?.content).toEqual({ "application/json": { schema: reference } });
  expect(responses?.["201"]?.content).toEqual({
    "application/json": { schema: { type: "array", items: reference } },
  });
});

test("a member that is called title makes no component of its object", () => {
  const made = withComponents(documentOf({ type: "object", properties: { title: RUN } }));
  expect(Object.keys(made.components?.schemas ?? {})).toEqual(["Run"]);
});

test("components refer to components", () => {
  const page = { title: "Page", type: "object", properties: { runs: { items: RUN } } };
  const { schemas } = withComponents(documentOf(page)).components ?? {};
  expect(schemas?.["Page"]?.properties).toEqual({ runs: { items: { $ref: expect.anything() } } });
});

test("a description stays where the schema is used", () => {
  const made = withComponents(documentOf({ ...RUN, description: "the newest one" }, RUN));
  expect(made.components?.schemas?.["Run"]).not.toHaveProperty("description");
  expect(made.paths?.["/runs"]?.["get"]?.responses?.["200"]?.content).toMatchObject({
    "application/json": { schema: { description: "the newest one" } },
  });
});

test("two schemas of one title are refused", () => {
  const other = { ...RUN, properties: {} };
  expect(() => withComponents(documentOf(RUN, other))).toThrow("two schemas are called Run");
});
