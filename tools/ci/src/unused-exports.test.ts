import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { duplicateNames } from "./duplicate-names.ts";
import { readModuleGraph } from "./module-graph.ts";
import { unusedExports } from "./unused-exports.ts";

/** A workspace on disk with the given files; packages export "." and "./testing". */
function workspace(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "exports-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    const folder = path.split("/").slice(0, 2).join("/");
    const name = `@stackwright/${folder.split("/")[1]}`;
    const exports = { ".": "./src/index.ts", "./testing": "./src/testing/index.ts" };
    writeFileSync(join(root, folder, "package.json"), JSON.stringify({ name, exports }));
  }
  return root;
}

function unused(files: Readonly<Record<string, string>>): string[] {
  const root = workspace(files);
  return unusedExports(root, readModuleGraph(root));
}

function duplicates(files: Readonly<Record<string, string>>): string[] {
  const root = workspace(files);
  return duplicateNames(root, readModuleGraph(root));
}

const A = "packages/krt/src/a.ts";

describe("unusedExports", () => {
  it("finds what only its own file uses, with the line", () => {
    expect(unused({ [A]: "const b = 1;\nexport const a = b;\nconsole.log(a);" })).toEqual([
      expect.stringContaining(`${A}:2 exports "a", which no other file imports`),
    ]);
  });

  it.each([
    ["an import", `import { a } from "./a.ts";`],
    ["an import of a type", `import type { a } from "./a.ts";`],
    ["an import under another name", `import { a as other } from "./a.ts";`],
    ["an import of the whole file", `import * as all from "./a.ts";`],
    ["a dynamic import", `const { a } = await import("./a.ts");`],
    ["a name in a type", `type A = import("./a.ts").a;`],
  ])("counts %s in another file, also in a test", (_what, source) => {
    expect(unused({ [A]: "export const a = 1;", "packages/krt/src/b.test.ts": source })).toEqual(
      [],
    );
  });

  it("counts what the exports map leads to, through every file in between", () => {
    const files = {
      [A]: "export const a = 1;\nexport const rest = 2;",
      "packages/krt/src/b.ts": `export { a as b } from "./a.ts";`,
      "packages/krt/src/testing/index.ts": `export { b } from "../b.ts";`,
    };
    expect(unused(files)).toEqual([expect.stringContaining(`${A}:2 exports "rest"`)]);
  });

  it("finds a name that a file only passes on", () => {
    const files = {
      [A]: "export const a = 1;",
      "packages/krt/src/b.ts": `export { a } from "./a.ts";`,
    };
    expect(unused(files)).toEqual([expect.stringContaining('packages/krt/src/b.ts:1 exports "a"')]);
  });

  it("does not count a name that another file has in a comment or imports from elsewhere", () => {
    const files = {
      [A]: "export const a = 1;",
      "packages/krt/src/b.ts": "// a\nexport default 1;",
      "packages/krt/src/c.ts": `import { a } from "./b.ts";\nimport {} from "./a.ts";`,
    };
    expect(unused(files)).toHaveLength(1);
  });

  it("accepts generated code", () => {
    expect(unused({ "packages/krt/src/gen/a.ts": "export const a = 1;" })).toEqual([]);
  });
});

describe("duplicateNames", () => {
  it("finds a public name that two packages define", () => {
    const files = {
      "packages/krt/src/index.ts": "export const twice = 1;\nexport const once = 2;",
      "packages/cty/src/index.ts": `export { other as twice } from "./deep.ts";`,
      "packages/cty/src/deep.ts": "export const other = 3;\nexport const once = 4;",
    };
    expect(duplicates(files)).toEqual([
      expect.stringMatching(
        /^packages\/cty and packages\/krt export "twice".*packages\/cty\/src\/deep\.ts#other/,
      ),
    ]);
  });

  it("accepts a package that passes on the name of another", () => {
    const files = {
      "packages/cty/src/index.ts": "export const a = 1;",
      "packages/krt/src/index.ts": `export { a } from "@stackwright/cty";`,
    };
    expect(duplicates(files)).toEqual([]);
  });

  it("accepts one package whose entries share a name, and names of messages", () => {
    const files = {
      "packages/cty/src/index.ts": "export const a = 1;",
      "packages/cty/src/testing/index.ts": "export const a = 2;",
      "packages/proto/src/index.ts": `export { a } from "./gen/a.ts";`,
      "packages/proto/src/gen/a.ts": "export const a = 1;",
    };
    expect(duplicates(files)).toEqual([]);
  });
});
