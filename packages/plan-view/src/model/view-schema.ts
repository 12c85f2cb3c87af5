/** A reference to a definition of {@link VIEW_SCHEMA}. */
const ref = (name: string) => ({ $ref: `#/$defs/${name}` });
const text = { type: "string" } as const;
const flag = { const: true } as const;
const count = { type: "integer", minimum: 0 } as const;
const listOf = (items: object) => ({ type: "array", items });

function record(properties: Readonly<Record<string, object>>, optional: readonly string[] = []) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  };
}

const oneKind = (
  kind: string,
  properties: Readonly<Record<string, object>> = {},
  optional: string[] = [],
) => record({ kind: { const: kind }, ...properties }, optional);

/** JSON Schema (2020-12) of a plan view. Further members may come with a release; readers ignore what they do not know. */
export const VIEW_SCHEMA: Readonly<Record<string, unknown>> = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...record(
    {
      format: { const: "stackwright.plan-view/1" },
      planDigest: text,
      stack: text,
      revision: { type: "string", pattern: "^[0-9]+$" },
      mode: { enum: ["normal", "refresh-only", "destroy"] },
      partial: { type: "boolean" },
      deferred: listOf(record({ address: text, because: text })),
      createdAtMs: { type: "number" },
      summary: record(
        Object.fromEntries(
          ["create", "update", "replace", "delete", "forget", "import", "move", "read"].map(
            (name) => [name, count] as const,
          ),
        ),
      ),
      rootCauses: listOf(record({ address: text, explains: count })),
      groups: listOf(
        record({
          risk: { enum: ["data-loss", "high", "destructive", "notable", "ordinary"] },
          entries: listOf(
            record({ changes: { ...listOf(count), minItems: 1 }, varies: listOf(text) }),
          ),
        }),
      ),
      changes: listOf(ref("change")),
      moves: listOf(record({ from: text, to: text })),
      outputs: listOf(record({ name: text, body: ref("diff") })),
      drift: listOf(
        record(
          {
            address: text,
            deposed: text,
            type: text,
            relevant: { type: "boolean" },
            body: ref("diff"),
          },
          ["deposed"],
        ),
      ),
      checks: listOf(
        record(
          {
            address: text,
            kind: text,
            status: { enum: ["fail", "unknown", "error"] },
            message: text,
          },
          ["message"],
        ),
      ),
    },
    ["deferred", "moves"],
  ),
  $defs: {
    change: record(
      {
        address: text,
        deposed: text,
        previousAddress: text,
        mode: { enum: ["managed", "data"] },
        type: text,
        name: text,
        module: text,
        action: { enum: ["no-op", "create", "read", "update", "replace", "delete", "forget"] },
        order: { enum: ["create-first", "delete-first"] },
        importing: record({ id: text }),
        reason: text,
        causes: listOf(record({ path: text, replaces: { type: "boolean" }, chain: listOf(text) })),
        provisioners: listOf(
          record(
            {
              when: { enum: ["create", "destroy"] },
              type: text,
              onFailure: { enum: ["fail", "continue"] },
              summary: text,
            },
            ["summary"],
          ),
        ),
        replacePaths: listOf(text),
        body: ref("diff"),
        risk: record({
          score: { type: "number", minimum: 0, maximum: 100 },
          reasons: listOf(text),
        }),
        likeness: text,
      },
      ["deposed", "previousAddress", "order", "importing", "reason", "provisioners"],
    ),
    shown: {
      oneOf: [
        oneKind("null"),
        oneKind("string", { text }),
        oneKind("number", { text }),
        oneKind("bool", { value: { type: "boolean" } }),
        ...["list", "set"].map((kind) => oneKind(kind, { items: listOf(ref("shown")) })),
        ...["object", "map"].map((kind) =>
          oneKind(kind, { members: listOf(record({ name: text, value: ref("shown") })) }),
        ),
        oneKind("unknown", { refinement: { type: "object" } }, ["refinement"]),
        oneKind("secret"),
        oneKind("omitted", { characters: count }),
      ],
    },
    diff: {
      oneOf: [
        ...["same", "add", "remove"].map((kind) => oneKind(kind, { value: ref("shown") })),
        oneKind(
          "change",
          {
            before: ref("shown"),
            after: ref("shown"),
            note: { enum: ["type", "null", "unknown"] },
          },
          ["note"],
        ),
        ...["object", "map"].map((kind) =>
          oneKind(kind, {
            members: listOf(record({ name: text, diff: ref("diff"), context: flag }, ["context"])),
          }),
        ),
        ...["list", "set"].map((kind) =>
          oneKind(
            kind,
            {
              items: listOf(
                record(
                  {
                    diff: ref("diff"),
                    beforeIndex: count,
                    afterIndex: count,
                    moved: flag,
                    pairedBy: { enum: ["equal", "key", "similarity"] },
                  },
                  ["beforeIndex", "afterIndex", "moved", "pairedBy"],
                ),
              ),
              note: { const: "order" },
            },
            ["note"],
          ),
        ),
        oneKind("text", {
          hunks: listOf(
            record({
              skipped: count,
              lines: listOf(record({ sign: { enum: ["+", "-", " "] }, text })),
            }),
          ),
        }),
        oneKind("document", {
          syntax: { const: "json" },
          body: ref("diff"),
          formattingOnly: { type: "boolean" },
        }),
        oneKind("secret", { changed: { enum: [true, false, "unknown"] } }),
      ],
    },
  },
};
