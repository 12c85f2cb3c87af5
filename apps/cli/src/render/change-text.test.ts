import { fromNative, Mark, Path, Type, Value } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { createStyle } from "../terminal/style.ts";
import { changeText, legend, outputLines, type ShownChange } from "./change-text.ts";

const plain = createStyle(false);

function attribute(type: Type, more: Partial<AttributeSchema> = {}): AttributeSchema {
  return {
    type,
    required: false,
    optional: true,
    computed: false,
    sensitive: false,
    writeOnly: false,
    deprecated: false,
    description: "",
    ...more,
  };
}

function block(
  attributes: Record<string, AttributeSchema>,
  blocks: BlockSchema["blocks"] = new Map(),
): BlockSchema {
  return {
    attributes: new Map(Object.entries(attributes)),
    blocks,
    deprecated: false,
    description: "",
  };
}

const schema = block({
  id: attribute(Type.string),
  password: attribute(Type.string, { sensitive: true }),
  tags: attribute(Type.map(Type.string)),
  zones: attribute(Type.list(Type.string)),
  text: attribute(Type.string),
  count: attribute(Type.number),
});

function object(members: Record<string, Value>): Value {
  return Value.object({
    id: Value.null(Type.string),
    password: Value.null(Type.string),
    tags: Value.null(Type.map(Type.string)),
    zones: Value.null(Type.list(Type.string)),
    text: Value.null(Type.string),
    count: Value.null(Type.number),
    ...members,
  });
}

function change(more: Partial<ShownChange>): ShownChange {
  return {
    address: "test_thing.a",
    mode: "managed",
    type: "test_thing",
    name: "a",
    action: "update",
    reasons: [],
    before: undefined,
    after: undefined,
    schema,
    replacePaths: [],
    ...more,
  };
}

const texts = (...items: string[]): Value =>
  Value.list(
    items.map((item) => Value.string(item)),
    Type.string,
  );

describe("the text of a change", () => {
  it("shows a created object with aligned names, unknown and secret values", () => {
    const after = object({
      id: Value.unknown(Type.string),
      password: Value.string("secret"),
      zones: texts("a", "b"),
      tags: Value.map({ env: Value.string("x"), "a b": Value.string("y") }),
    });
    expect(changeText(change({ action: "create", after }), { style: plain })).toBe(
      `  # test_thing.a will be created
  + resource "test_thing" "a" {
      + id       = (known after apply)
      + password = (sensitive value)
      + tags     = {
          + "a b" = "y"
          + env   = "x"
        }
      + zones    = [
          + "a",
          + "b",
        ]
    }`,
    );
  });

  it("hides what is unchanged but the identifying attributes", () => {
    const before = object({
      id: Value.string("i-1"),
      text: Value.string("t"),
      count: Value.number(1),
    });
    const after = object({
      id: Value.string("i-1"),
      text: Value.string("t"),
      count: Value.number(2),
    });
    expect(changeText(change({ before, after }), { style: plain })).toBe(
      `  # test_thing.a will be updated in place
  ~ resource "test_thing" "a" {
      ~ count = 1 -> 2
        id    = "i-1"
        # (1 unchanged attribute hidden)
    }`,
    );
  });

  it("says which attribute forces a replacement", () => {
    const before = object({ id: Value.string("i-1"), text: Value.string("a") });
    const after = object({ id: Value.unknown(Type.string), text: Value.string("b") });
    expect(
      changeText(
        change({
          action: "delete-create",
          before,
          after,
          replacePaths: [Path.root.attribute("text")],
          reasons: ["the type cannot be changed in place"],
        }),
        { style: plain },
      ),
    ).toBe(
      `  # test_thing.a must be replaced
  # (the type cannot be changed in place)
-/+ resource "test_thing" "a" {
      ~ id   = "i-1" -> (known after apply)
      ~ text = "a" -> "b" # forces replacement
    }`,
    );
  });

  it("shows the elements of a list that come and go", () => {
    const before = object({ zones: texts("a", "b", "c", "d") });
    const after = object({ zones: texts("a", "c", "d", "e") });
    expect(changeText(change({ before, after }), { style: plain })).toBe(
      `  # test_thing.a will be updated in place
  ~ resource "test_thing" "a" {
      ~ zones = [
            # (1 unchanged element hidden)
          - "b",
            # (2 unchanged elements hidden)
          + "e",
        ]
    }`,
    );
  });

  it("shows text of several lines line by line", () => {
    const before = object({ text: Value.string("one\ntwo\n") });
    const after = object({ text: Value.string("one\nthree\n") });
    expect(changeText(change({ before, after }), { style: plain })).toContain(
      `      ~ text = <<-EOT
            one
          - two
          + three
        EOT`,
    );
  });

  it("shows an empty text as nothing, which older providers write for it", () => {
    const before = object({ text: Value.string(""), password: Value.string("") });
    const after = object({ text: Value.unknown(Type.string), password: Value.string("") });
    expect(changeText(change({ before, after }), { style: plain })).toContain(
      "      + text = (known after apply)",
    );
  });

  it("looks into strings that hold JSON", () => {
    const before = object({ text: Value.string('{"a":1,"b":[1,2]}') });
    const after = object({ text: Value.string('{"a":2,"b":[1,2]}') });
    expect(changeText(change({ before, after }), { style: plain })).toContain(
      `      ~ text = jsonencode(
          ~ {
              ~ a = 1 -> 2
                # (1 unchanged attribute hidden)
            }
        )`,
    );
  });

  it("never shows a value that a mark or the schema calls secret", () => {
    const before = object({ password: Value.string("hunter2"), text: Value.string("deep") });
    const after = object({
      password: Value.string("hunter3"),
      text: Value.string("deeper").mark(Mark.sensitive),
    });
    const text = changeText(change({ before, after }), { style: plain });
    expect(text).not.toMatch(/hunter|deep/);
    expect(text).toContain("password = (sensitive value)");
  });

  it("shows nested blocks by their own lines and counts the unchanged", () => {
    const inner = block({ weight: attribute(Type.number), zone: attribute(Type.string) });
    const withBlocks = block(
      { id: attribute(Type.string) },
      new Map([["rule", { nesting: "list", block: inner, minItems: 0, maxItems: 0 }]]),
    );
    const rules = (...weights: number[]): Value =>
      Value.list(
        weights.map((weight) =>
          Value.object({ weight: Value.number(weight), zone: Value.string("z") }),
        ),
      );
    const before = Value.object({ id: Value.string("i"), rule: rules(1, 2) });
    const after = Value.object({ id: Value.string("i"), rule: rules(1, 3, 4) });
    expect(changeText(change({ before, after, schema: withBlocks }), { style: plain })).toBe(
      `  # test_thing.a will be updated in place
  ~ resource "test_thing" "a" {
        id = "i"

      ~ rule {
          ~ weight = 2 -> 3
            # (1 unchanged attribute hidden)
        }

      + rule {
          + weight = 4
          + zone   = "z"
        }

        # (1 unchanged block hidden)
    }`,
    );
  });

  it("shows a nested block that moved, and nothing of one that a mark calls secret", () => {
    const inner = block({ name: attribute(Type.string) });
    const withBlocks = block(
      {},
      new Map([["rule", { nesting: "list", block: inner, minItems: 0, maxItems: 0 }]]),
    );
    const rules = (...names: string[]): Value =>
      Value.list(names.map((name) => Value.object({ name: Value.string(name) })));
    const text = (before: Value, after: Value): string =>
      changeText(
        change({
          before: Value.object({ rule: before }),
          after: Value.object({ rule: after }),
          schema: withBlocks,
        }),
        { style: plain },
      );
    expect(text(rules("a", "b", "c"), rules("b", "c", "a"))).toContain(
      `      ~ rule { # moved from position 1
            name = "a"
        }`,
    );
    const secret = text(rules("hunter"), rules("hunter", "deep").mark(Mark.sensitive));
    expect(secret).not.toMatch(/hunter|deep/);
    expect(secret).toContain("(sensitive value)");
  });

  it("does not let a value send commands to the terminal", () => {
    const after = object({ text: Value.string("a\u001b[2Jb\n\u0007c") });
    const text = changeText(change({ action: "create", after }), { style: plain });
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("distinguishes a move from a change", () => {
    const before = object({ id: Value.string("i") });
    const text = changeText(
      change({ action: "no-op", previousAddress: "test_thing.old", before, after: before }),
      { style: plain },
    );
    expect(text).toContain("# test_thing.old has moved to test_thing.a");
  });

  it("explains the signs of the actions that occur, and no others", () => {
    expect(legend(new Set(["create", "delete-create"]), plain)).toEqual([
      "  + create",
      "-/+ destroy and then create replacement",
    ]);
  });
});

describe("changes to outputs", () => {
  it("lists those that change", () => {
    expect(
      outputLines(
        [
          { name: "a", before: Value.string("x"), after: Value.string("x") },
          { name: "bb", before: undefined, after: fromNative({ k: [1] }) },
          { name: "c", before: Value.number(1), after: Value.unknown(Type.number) },
        ],
        plain,
      ),
    ).toEqual([
      "  + bb = {\n      + k = [\n          + 1,\n        ]\n    }",
      "  ~ c  = 1 -> (known after apply)",
    ]);
  });
});
