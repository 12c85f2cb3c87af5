import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ALLOWED_IMPORTS, checkImports } from "./import-rules.ts";

/** A workspace on disk with the given files; packages export "." and "./testing". */
function workspace(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "import-rules-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folders = new Set(Object.keys(files).map((path) => path.split("/").slice(0, 2).join("/")));
  for (const folder of folders) {
    mkdirSync(join(root, folder), { recursive: true });
    const name = `@stackwright/${folder.split("/")[1]}`;
    const exports = { ".": "./src/index.ts", "./testing": "./src/testing/index.ts" };
    const dependencies = { "@stackwright/cty": "workspace:*" };
    const manifest = { name, exports, dependencies };
    writeFileSync(join(root, folder, "package.json"), JSON.stringify(manifest));
  }
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const CTY = { "packages/cty/src/index.ts": "export const a = 1;" };

describe("checkImports", () => {
  it("accepts what the table allows, by a declared subpath", () => {
    const root = workspace({
      ...CTY,
      "packages/lang/src/index.ts": `import { a } from "@stackwright/cty";\nimport "@stackwright/cty/testing";`,
    });
    expect(checkImports(root)).toEqual({ files: 2, problems: [] });
  });

  it.each([
    ["a package that the table does not allow", `import "@stackwright/cty";`, "krt may import no"],
    ["a re-export of one", `export { a } from "@stackwright/cty";`, "krt may import no"],
    ["a dynamic import of one", `await import("@stackwright/cty");`, "krt may import no"],
    ["a type import of one", `import type { a } from "@stackwright/cty";`, "krt may import no"],
    [
      "a file of another package by path",
      `import "../../../cty/src/index.ts";`,
      "inside its package",
    ],
    ["an application", `import "@stackwright/engine";`, "not for packages to import"],
    ["a package that does not exist", `import "@stackwright/nothing";`, "no such package"],
  ])("refuses %s", (_what, source, message) => {
    const root = workspace({
      ...CTY,
      "apps/engine/src/index.ts": "",
      "packages/krt/src/deep/file.test.ts": source,
    });
    const { problems } = checkImports(root);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain("packages/krt/src/deep/file.test.ts imports");
    expect(problems[0]).toContain(message);
  });

  it("refuses packages that users do not get with the importing one, but in its tests", () => {
    const source = 'import "@stackwright/provider-source";';
    const root = workspace({
      ...CTY,
      "packages/provider-source/src/index.ts": "",
      "packages/lang/src/index.ts": source,
      "packages/lang/src/index.test.ts": source,
      "packages/lang/src/testing/index.ts": source,
    });
    expect(checkImports(root).problems).toEqual([
      'packages/lang/src/index.ts imports "@stackwright/provider-source": it is not among the dependencies of packages/lang/package.json, with which users get it',
    ]);
  });

  it("refuses a deep import even where the package is allowed", () => {
    const root = workspace({
      ...CTY,
      "packages/lang/src/index.ts": `import "@stackwright/cty/src/value.ts";`,
    });
    expect(checkImports(root).problems).toEqual([
      expect.stringContaining('@stackwright/cty does not export "./src/value.ts"'),
    ]);
  });

  it("lets benchmarks, examples and tools import every package", () => {
    const root = workspace({ ...CTY, "bench/krt/run.ts": `import "@stackwright/cty";` });
    expect(checkImports(root).problems).toEqual([]);
  });
});

describe("ALLOWED_IMPORTS", () => {
  it("has no cycles", () => {
    const order = Object.keys(ALLOWED_IMPORTS);
    for (const [name, allowed] of Object.entries(ALLOWED_IMPORTS)) {
      for (const other of allowed) expect(order.indexOf(other)).toBeLessThan(order.indexOf(name));
    }
  });
});
