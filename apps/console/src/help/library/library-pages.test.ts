import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { commentMarkdown } from "./comment-markdown.ts";
import { libraryPages } from "./library-pages.ts";

const ROOT = join(import.meta.dirname, "../../../../..");

const FILES = {
  "package.json": JSON.stringify({
    name: "@acme/tool",
    description: "A tool",
    exports: { ".": "./src/index.ts", "./wire": "./src/gen/wire.ts" },
  }),
  "src/index.ts":
    'export { Cutter, cut, LIMIT } from "./parts/cut.ts";\nexport type { Value } from "other";\n',
  "src/parts/cut.ts": `/** Cuts a text. */
export function cut(text: string): string;
export function cut(text: string, at: number): string;
export function cut(text: string, at = 1): string {
  return text.slice(at);
}

/** Of a text. */
export const LIMIT = 10 as const;

/** Keeps what it has cut. */
export class Cutter {
  readonly #secret = 1;
  /** How often. */
  count = 0;

  private hidden(): void {}

  /** Cuts once more. */
  again(text: string): string {
    return cut(text);
  }
}
`,
  "src/gen/wire.ts": "export const wire = 1;\n",
};

it("has what a library exports as users see it, and not how it is done", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "library-"));
  for (const [path, text] of Object.entries(FILES)) {
    const file = join(scratch.path, "packages/tool", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  expect(libraryPages(scratch.path)).toEqual([
    {
      path: "docs/library/tool.md",
      markdown: `# \`@acme/tool\`

A tool. [What it is for and how it is used](../../packages/tool/README.md).

## \`@acme/tool\`

### \`cut\`

\`\`\`ts
function cut(text: string): string;
\`\`\`

Cuts a text.

\`\`\`ts
function cut(text: string, at: number): string;
\`\`\`

### \`Cutter\`

\`\`\`ts
class Cutter {
  /** How often. */
  count = 0;
  /** Cuts once more. */
  again(text: string): string;
}
\`\`\`

Keeps what it has cut.

### \`LIMIT\`

\`\`\`ts
const LIMIT = 10 as const;
\`\`\`

Of a text.

### \`Value\`

That of \`other\`.

## \`@acme/tool/wire\`

Messages and services, generated from the files of the protocol.
`,
    },
  ]);
});

it("finds a declaration of every name that a library of this repository exports", () => {
  for (const { path, markdown } of libraryPages(ROOT)) {
    const sections = markdown.split(/^### /m).slice(1);
    const empty = sections.filter(
      (text) => !text.includes("```ts\n") && !text.includes("That of "),
    );
    expect([path, empty]).toEqual([path, []]);
  }
});

it("shows names and tags of comments as readers expect them", () => {
  const comment =
    "Cuts {@link Text} as {@link cut | it} is.\n\n@param at where\n@returns the rest\n@throws `CUT_INVALID`\n@default 1";
  expect(commentMarkdown(comment)).toBe(
    "Cuts `Text` as it is.\n\n- `at`: where\n\nReturns the rest\n\nThrows `CUT_INVALID`\n\nDefault: 1",
  );
});
