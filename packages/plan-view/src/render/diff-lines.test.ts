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
