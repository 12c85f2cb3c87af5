import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadTestFile } from "./load-test-file.ts";

/** Parts of test files as their authors write them; a file is some of them, nested where that has a sense or not. */
const expression = fc.constantFrom(
  "true",
  "var.a",
  "run.one.x",
  '"${run.one.x}"',
  "[for a in var.b : a]",
  "{ a = 1, (var.b) = 2 }",
  "mock_thing.a[0].id",
  "null",
  'file("x")',
);
const attribute = fc
  .tuple(
    fc.constantFrom(
      "command",
      "condition",
      "error_message",
      "source",
      "target",
      "values",
      "a",
      "override_during",
      "parallel",
      "state_key",
      "expect_failures",
    ),
    expression,
  )
  .map(([name, value]) => `${name} = ${value}\n`);
const { body } = fc.letrec<{ body: string; block: string }>((tie) => ({
  body: fc
    .array(fc.oneof({ weight: 3, arbitrary: attribute }, tie("block")), { maxLength: 4 })
    .map((parts) => parts.join("")),
  block: fc
    .tuple(
      fc.constantFrom(
        'run "one"',
        'run "two"',
        "run",
        "variables",
        "test",
        'provider "p"',
        'mock_provider "p"',
        'mock_resource "t"',
        'mock_data "t"',
        "override_resource",
        "override_data",
        "override_module",
        "assert",
        "plan_options",
        "module",
        "providers",
        '"quoted" "twice"',
      ),
      tie("body"),
    )
    .map(([header, inner]) => `${header} {\n${inner}}\n`),
}));
const damage = fc.array(
  fc.tuple(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.nat({ max: 9 }),
    fc.constantFrom(
      "",
      "{",
      "}",
      '"',
      "${",
      "%{",
      "<<EOT\n",
      "=",
      "\n",
      "\u0000",
      "\ufeff",
      "[[[[",
      "//",
      "/*",
    ),
  ),
  { maxLength: 4 },
);

function damaged(before: string, changes: readonly (readonly [number, number, string])[]): string {
  return changes.reduce((rest, [share, length, insert]) => {
    const at = Math.floor(share * rest.length);
    return rest.slice(0, at) + insert + rest.slice(at + length);
  }, before);
}

/** Reads a file: whatever is wrong with it is said with a place that is in the file. */
function read(name: string, text: string): void {
  const { file, diagnostics } = loadTestFile(name, text);
  expect(file).toBeDefined();
  for (const { subject, summary } of diagnostics) {
    expect(summary).not.toBe("");
    if (subject === undefined) continue;
    expect(subject.start).toBeGreaterThanOrEqual(0);
    expect(subject.end).toBeGreaterThanOrEqual(subject.start);
    // What is missing at the end is one character behind it.
    expect(subject.end).toBeLessThanOrEqual(text.length + 1);
  }
}

describe("a test file", () => {
  it("is read as far as it can be, however it is damaged, and what is wrong is said with its place", () => {
    fc.assert(
      fc.property(body, damage, (text, changes) => read("a.tftest.hcl", damaged(text, changes))),
    );
  });

  it("in JSON is read or refused alike", () => {
    const names = fc.constantFrom(
      "run",
      "variables",
      "one",
      "assert",
      "provider",
      "mock_provider",
      "//",
      "condition",
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<unknown>(null, true, 1, "", "${run.one.x}", "${", "%{ if"),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(names, tie("value"), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(value, damage, (document, changes) =>
        read("a.tftest.json", damaged(JSON.stringify(document), changes)),
      ),
    );
  });

  it("of some megabytes, or nested without end, takes time that grows with its length", () => {
    for (const text of [
      'run "a" {\n'.repeat(20_000),
      `run "a" {\n${"assert { condition = true }\n".repeat(20_000)}}\n`,
      `variables { a = ${"[".repeat(100_000)} }`,
      `variables { a = "${"${".repeat(50_000)}" }`,
      "}".repeat(200_000),
    ]) {
      read("a.tftest.hcl", text);
    }
  }, 20_000);
});
