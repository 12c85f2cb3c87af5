import { formatFile, parseJson } from "@stackwright/lang";
import { expect, it } from "vitest";
import { type JsonBodyModel, readJsonBody } from "./json-model.ts";
import { nativeText } from "./native-text.ts";

const LABELS: Readonly<Record<string, readonly string[]>> = {
  resource: ["type", "name"],
  disk: [],
  dynamic: ["type"],
  content: [],
};

/** What a body has where `tags` is an argument, and blocks are those above. */
function read(json: string): JsonBodyModel | undefined {
  const { root } = parseJson({ name: "a.tf.json", text: json });
  if (root.kind !== "object") throw new Error(json);
  const blocks = new Map(Object.entries(LABELS).map(([name, labels]) => [name, { labels }]));
  return readJsonBody(root, () => ({ arguments: new Map([["tags", {}]]), blocks }));
}

const inResource = (body: string) => read(`{"resource": {"t": {"n": ${body}}}}`);

it("tells blocks of a provider from its arguments", () => {
  const model = inResource(
    '{"size": 1, "tags": {"a": "${b.c}"}, "disk": [{"x": 1}, {"x": 2}], "dynamic": {"disk": {"for_each": [1], "iterator": "one", "content": {"x": "${one.value}"}}}}',
  );
  expect(
    formatFile({ name: "a.tf", text: model === undefined ? "" : nativeText(model) }).text,
  ).toBe(`resource "t" "n" {
  size = 1
  tags = {
    a = b.c
  }

  disk {
    x = 1
  }

  disk {
    x = 2
  }

  dynamic "disk" {
    for_each = [1]
    iterator = one

    content {
      x = one.value
    }
  }
}
`);
});

it("does not guess what else has members", () => {
  expect(inResource('{"other": [1, "x"]}')).toBeDefined();
  expect(inResource('{"other": {}}')).toBeUndefined();
  expect(inResource('{"other": [{}]}')).toBeUndefined();
  expect(inResource('{"disk": 1}')).toBeUndefined();
});
