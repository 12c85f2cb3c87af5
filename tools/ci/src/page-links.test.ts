import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { deadLinks, headingIds, linksOf } from "./page-links.ts";

it("finds links outside of code", () => {
  const text =
    'see [a](a.md) and [`b`](b.md#x "title")\n`[no](no.md)`\n```\n[no](no.md)\n```\n![c](c.png)\n';
  expect(linksOf(text)).toEqual([
    { line: 1, target: "a.md" },
    { line: 1, target: "b.md#x" },
    { line: 6, target: "c.png" },
  ]);
});

it("finds no link in code behind a link whose text is code", () => {
  expect(linksOf("| [`A`](a.md) | `[a-z](?:x)` |\n")).toEqual([{ line: 1, target: "a.md" }]);
});

it("makes the anchors of headings as Git servers do", () => {
  const text =
    "# The `plan` command, again!\n## Twice\n## Twice\n```\n# none\n```\n### [Link](x.md) #\n";
  expect([...headingIds(text)]).toEqual(["the-plan-command-again", "twice", "twice-1", "link"]);
});

it("reports files and headings that are not there", () => {
  const root = mkdtempSync(join(tmpdir(), "page-links-"));
  try {
    mkdirSync(join(root, "docs"));
    writeFileSync(join(root, "README.md"), "# One\n[a](docs/a.md#two) [b](docs/b.md) [c](#one)\n");
    writeFileSync(
      join(root, "docs/a.md"),
      "# Other\n[up](../README.md#two)\n[out](../../x.md) [web](https://example.com/#x)\n",
    );
    execFileSync("git", ["init", "-q"], { cwd: root });
    execFileSync("git", ["add", "."], { cwd: root });
    expect(deadLinks(root)).toEqual({
      pages: 2,
      problems: [
        "README.md:2: docs/a.md has no heading for #two",
        "README.md:2: there is no docs/b.md that the link to docs/b.md names",
        "docs/a.md:2: README.md has no heading for #two",
        "docs/a.md:3: the link to ../../x.md leads out of the repository",
      ],
    });
  } finally {
    rmSync(root, { recursive: true });
  }
});
