import { Type } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";
import { expect, it } from "vitest";
import { blockText, descriptionText, firstSentence } from "./schema-text.ts";

const NONE: AttributeSchema = {
  type: Type.string,
  required: false,
  optional: false,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};

function block(parts: Partial<BlockSchema>): BlockSchema {
  const none = { attributes: new Map(), blocks: new Map(), deprecated: false, description: "" };
  return { ...none, ...parts };
}

it("says what has to be written first, then what may be, then what the provider decides", () => {
  const attributes = new Map<string, AttributeSchema>([
    ["id", { ...NONE, computed: true }],
    ["zone", { ...NONE, optional: true, computed: true }],
    ["password", { ...NONE, optional: true, sensitive: true, writeOnly: true }],
    ["tags", { ...NONE, type: Type.map(Type.string), optional: true, deprecated: true }],
    ["name", { ...NONE, required: true, description: "What it is called.\n\nUnique in a zone." }],
  ]);
  const timeouts = block({
    attributes: new Map([["create", { ...NONE, optional: true }]]),
    description: "How long things may take.",
  });
  const blocks = new Map([
    ["timeouts", { nesting: "list" as const, block: timeouts, minItems: 0, maxItems: 1 }],
  ]);
  expect(blockText(block({ attributes, blocks }), 80)).toMatchInlineSnapshot(`
    "
    Arguments
      name  string, required
          What it is called.

          Unique in a zone.
      zone  string, decided by the provider where it is left out
      password  string, optional, sensitive, not stored
      tags  map(string), optional, deprecated

    Blocks
      timeouts  list, at most 1
          How long things may take.
          create  string, optional

    Decided by the provider
      id  string
    "
  `);
});

it("breaks long descriptions, and leaves out the examples of other languages", () => {
  const text =
    "Makes a bucket of the given name.\n\n{{% examples %}}\nconst a = 1;\n{{% /examples %}}";
  expect(descriptionText(text, "  ", 24)).toBe("  Makes a bucket of the\n  given name.\n");
  expect(descriptionText("\n", "  ", 24)).toBe("");
});

it("lets no provider move the cursor", () => {
  expect(descriptionText("a\u001b[2Jb", "", 80)).toBe("a\\u001b[2Jb\n");
  expect(firstSentence("One of v1.2\nthings.  More.")).toBe("One of v1.2 things.");
});
