import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { claimProblems, readClaims } from "./security-claims.ts";

const ROOT = join(import.meta.dirname, "../../..");

it("reads what is protected, with its tests", () => {
  const page = `# Security
- no claim
## What is protected
### Callers
- A role reaches its
  operations alone.
  - \`a.test.ts: is so\`
- Nothing else.
## What is not protected
- **This**
`;
  expect(readClaims(page)).toEqual([
    {
      line: 5,
      text: "A role reaches its operations alone.",
      tests: [{ line: 7, path: "a.test.ts", title: "is so" }],
    },
    { line: 8, text: "Nothing else.", tests: [] },
  ]);
});

it("reports a claim without a test, and one whose test is not there or never runs", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "security-claims-"));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(scratch.path, path)), { recursive: true });
    writeFileSync(join(scratch.path, path), text);
  };
  write(
    "a.test.ts",
    'it("is so", run);\nit.skip("is left out", run);\nit.each([1])(\n  "is each", run);\n',
  );
  const claims = [
    ["Shown.", "a.test.ts: is so", "a.test.ts: is each"],
    ["Not shown."],
    ["Gone.", "a.test.ts: was so", "b.test.ts: is so", "nothing"],
    ["Left out.", "a.test.ts: is left out"],
  ].flatMap(([claim, ...tests]) => [`- ${claim}`, ...tests.map((test) => `  - \`${test}\``)]);
  write("docs/security.md", ["## What is protected", ...claims, ""].join("\n"));
  expect(claimProblems(scratch.path)).toEqual({
    claims: 4,
    problems: [
      "docs/security.md:5: no test shows that Not shown.",
      'docs/security.md:7: a.test.ts has no test "was so"',
      "docs/security.md:8: there is no b.test.ts",
      "docs/security.md:9: a test is named as `path: title`",
      'docs/security.md:11: the test "is left out" of a.test.ts never runs',
    ],
  });
});

it("each claim of the security model has tests, which exist", () => {
  const { claims, problems } = claimProblems(ROOT);
  expect(claims).toBeGreaterThan(30);
  expect(problems).toEqual([]);
});
