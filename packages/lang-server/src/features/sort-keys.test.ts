import { consoleScope, evaluate, parseFile, valueText } from "@stackwright/lang";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { offeredActions } from "../testing/offered-actions.ts";

/** The text after the keys were sorted; undefined where that is not offered. */
async function sorted(main: string): Promise<string | undefined> {
  const found = await offeredActions({ "main.tf": main }, "refactor.rewrite");
  return found["Sort the keys"]?.["main.tf"];
}

describe("sort keys", () => {
  it("keeps comments with their items, and empty lines where they are", async () => {
    const main = `locals {
  a = {«»
    # About c,
    # in two lines.
    c = 1 # one
    "b" = { y = 1, x = 2 }

    # Of the group.

    aa = 5
    /* About a. */
    a = [
      1,
    ] // list
    # At the end.
  }
}
`;
    expect(await sorted(main)).toBe(`locals {
  a = {
    "b" = { y = 1, x = 2 }
    # About c,
    # in two lines.
    c = 1 # one

    # Of the group.

    /* About a. */
    a = [
      1,
    ] // list
    aa = 5
    # At the end.
  }
}
`);
  });

  it("leaves commas where they are", async () => {
    const main = "locals {\n  a = {\n    «»b = 1, # one\n    a = 2 # two\n  }\n}\n";
    expect(await sorted(main)).toBe(
      "locals {\n  a = {\n    a = 2, # two\n    b = 1  # one\n  }\n}\n",
    );
    expect(await sorted("locals {\n  a = { «»b = [2], c : 1, a = 0, }\n}\n")).toBe(
      "locals {\n  a = { a = 0, b = [2], c : 1, }\n}\n",
    );
  });

  it("is about the innermost object", async () => {
    const main = "locals {\n  a = {\n    z = { b = 1, «»a = 2 }\n    y = 1\n  }\n}\n";
    expect(await sorted(main)).toBe(
      "locals {\n  a = {\n    z = { a = 2, b = 1 }\n    y = 1\n  }\n}\n",
    );
  });

  it("is offered for types and values of variables", async () => {
    const main = 'variable "a" {\n  type = object({«»\n    b = string\n    a = number\n  })\n}\n';
    expect(await sorted(main)).toContain("object({\n    a = number\n    b = string\n  })");
    const values = { "a.tfvars": "a = { «»b = 1, a = 2 }\n" };
    const found = await offeredActions(values, "refactor.rewrite");
    expect(found["Sort the keys"]?.["a.tfvars"]).toBe("a = { a = 2, b = 1 }\n");
  });

  it.for([
    ["they are sorted", "{ «»a = 1, b = 2 }"],
    ["one is not constant", "{ «»b = 1, (var.a) = 2 }"],
    ["one is there twice", "{ «»b = 1, a = 2, b = 3 }"],
    ["two are the same text otherwise written", '{ «»"\u00e9" = 1, "e\u0301" = 2, a = 3 }'],
    ["a comment is between items on a line", "{ «»b = 1, /* a */ a = 2 }"],
    ["a line has two items", "{\n    «»c = 1, b = 2\n    a = 3\n  }"],
    ["an item begins behind a comment", "{\n    «»b = 1\n    /* a */ a = 3\n  }"],
    ["a comment is before a comma", "{\n    «»b = 1 /* b */,\n    a = 3\n  }"],
    ["there is no object", "[«»]"],
  ])("is not offered where %s", async ([, value]) => {
    expect(await sorted(`locals {\n  a = ${value}\n}\n`)).toBeUndefined();
  });

  it("leaves the value equal and each comment at its item", async () => {
    const name = fc.stringMatching(/^[a-f]{1,3}$/);
    const value = fc.constantFrom(
      "1",
      '"x"',
      "[1,\n 2]",
      "{ z = 1, y = 2 }",
      "<<EOT\nb = 1\nEOT",
      "true ? 1:2",
    );
    const item = fc.record({
      key: fc.tuple(name, fc.boolean()).map(([key, quoted]) => (quoted ? `"${key}"` : key)),
      value,
      above: fc.boolean(),
      behind: fc.boolean(),
      gap: fc.boolean(),
      comma: fc.boolean(),
    });
    const items = fc.uniqueArray(item, {
      minLength: 2,
      maxLength: 6,
      selector: ({ key }) => key.replaceAll('"', ""),
    });
    let offered = 0;
    await fc.assert(
      fc.asyncProperty(items, async (list) => {
        const lines = list.map(({ key, value: text, above, behind, gap, comma }) => {
          const isText = text.startsWith("<<");
          const comment = behind && !isText ? ` # behind ${key}` : "";
          const about = above ? `# above ${key}\n` : "";
          return `${about}${key} = ${text}${comma && !isText ? "," : ""}${comment}\n${gap ? "\n" : ""}`;
        });
        const main = `locals {\n  a = {\n${lines.join("")}}\n}\n`;
        const after = await sorted(main.replace("a = {", "a = {«»"));
        if (after === undefined) return;
        offered += 1;
        expect(valueOf(after)).toBe(valueOf(main));
        for (const { key, above, behind, value: text } of list) {
          if (above) expect(after).toMatch(new RegExp(`# above ${key}\\n *${key} +=`));
          if (behind && !text.includes("\n")) {
            expect(after).toMatch(new RegExp(`^ *${key} .* # behind ${key}$`, "m"));
          }
        }
        expect(await sorted(after.replace("a = {", "a = {«»"))).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    expect(offered).toBeGreaterThan(10);
  });
});

function valueOf(text: string): string {
  const { body, diagnostics } = parseFile({ name: "main.tf", text });
  expect(diagnostics).toEqual([]);
  const [block] = body.items;
  const [argument] = block?.kind === "block" ? block.body.items : [];
  if (argument?.kind !== "attribute") throw new Error(text);
  const { value, diagnostics: problems } = evaluate(argument.expression, consoleScope());
  expect(problems).toEqual([]);
  return valueText(value);
}
