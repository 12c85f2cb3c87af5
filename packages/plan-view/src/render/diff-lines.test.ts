import { expect, it } from "vitest";
import type { Shown } from "../model/shown.ts";
import { bodyLines, namedLines } from "./diff-lines.ts";

it("a value that stands alone has no comma behind it", () => {
  const value = { kind: "string", text: "a" } as const;
  expect(bodyLines({ kind: "add", value }).map(({ text }) => text)).toEqual(['"a"']);
});

it.each<[string, Shown, readonly string[]]>([
  [
    "an object",
    { kind: "object", members: [{ name: "a", value: { kind: "string", text: "x" } }] },
    ["~ v = {", '- a = "x"', "  } -> (known after apply)"],
  ],
  [
    "lines",
    { kind: "string", text: "x\ny\n" },
    ["~ v = <<-EOT", "- x", "- y", "  EOT -> (known after apply)"],
  ],
  [
    "a document",
    { kind: "string", text: '{"b":[1.50,12345678901234567890],"a":null}' },
    [
      "~ v = jsonencode(",
      "- {",
      "- a = null",
      "- b = [",
      "- 1.50,",
      "- 12345678901234567890,",
      "  ]",
      "  }",
      "  ) -> (known after apply)",
    ],
  ],
  [
    "a document with a name twice",
    { kind: "string", text: '{"a":1,"a":2}' },
    [String.raw`~ v = "{\"a\":1,\"a\":2}" -> (known after apply)`],
  ],
  ["an empty document", { kind: "string", text: "{}" }, ['~ v = "{}" -> (known after apply)']],
  [
    "a text like a document",
    { kind: "string", text: '{"a": ' },
    [String.raw`~ v = "{\"a\": " -> (known after apply)`],
  ],
])("of %s that is not known any more, what goes is removed", (_, before, lines) => {
  const diff = { kind: "change", before, after: { kind: "unknown" } } as const;
  expect(namedLines("v", diff).map(({ sign, text }) => `${sign} ${text}`)).toEqual(lines);
});

it("a known beginning of an unknown text is a text of its own", () => {
  const value = { kind: "unknown", refinement: { prefix: 'vol-"' } } as const;
  expect(bodyLines({ kind: "add", value }).map(({ text }) => text)).toEqual([
    String.raw`"vol-\""... (known after apply)`,
  ]);
});

it("a document that comes or goes as a whole is shown by its parts", () => {
  const value = { kind: "string", text: '{"Sid":"Read"}' } as const;
  const lines = ["jsonencode(", "{", 'Sid = "Read"', "}", ")"];
  for (const kind of ["add", "remove"] as const) {
    expect(namedLines("", { kind, value }).map(({ text }) => text.replace(/^"" = /, ""))).toEqual(
      lines,
    );
  }
});

it("a text that is nested deeper than a user reads is one line", () => {
  const text = `${"[".repeat(50_000)}1${"]".repeat(50_000)}`;
  expect(bodyLines({ kind: "add", value: { kind: "string", text } })).toHaveLength(1);
});
