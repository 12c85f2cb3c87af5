import { Type } from "@stackwright/cty";
import { structFromJson } from "@stackwright/proto/property";
import { expect, it } from "vitest";
import type { AttributeSchema, BlockSchema, Nesting } from "../router/schema.ts";
import { missingInputs } from "./input-failures.ts";
import { ObjectProperties } from "./object-properties.ts";

const REQUIRED: AttributeSchema = {
  type: Type.string,
  required: true,
  optional: false,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};

/** A block with a nested block "part", which requires "name". */
function withPart(nesting: Nesting): BlockSchema {
  const block = {
    attributes: new Map([["name", REQUIRED]]),
    blocks: new Map(),
    deprecated: false,
    description: "",
  };
  const part = { nesting, block, minItems: 0, maxItems: 0 };
  return {
    attributes: new Map([["other", { ...REQUIRED, required: false, optional: true }]]),
    blocks: new Map([["part", part]]),
    deprecated: false,
    description: "",
  };
}

it.each(["single", "group", "list", "set", "map"] as const)(
  "requires nothing of a nested block of the kind %s that is not given",
  (nesting) => {
    const block = withPart(nesting);
    const config = new ObjectProperties(block).decode(structFromJson({ other: "x" }));
    expect(missingInputs(block, config)).toEqual([]);
  },
);

it.each([
  ["single", {}, "part.name"],
  ["list", [{ name: "a" }, {}], "part[1].name"],
  ["map", { a: {} }, "part.a.name"],
] as const)("names what one of the kind %s lacks", (nesting, part, property) => {
  const block = withPart(nesting);
  const config = new ObjectProperties(block).decode(structFromJson({ part }));
  expect(missingInputs(block, config)).toMatchObject([{ property }]);
});
