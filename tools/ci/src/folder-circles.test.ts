import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeCircles, type FolderGraph, folderGraphs } from "./folder-circles.ts";

async function graphOf(files: Readonly<Record<string, string>>): Promise<FolderGraph> {
  await using root = await mkdtempDisposable(join(tmpdir(), "circles-"));
  const all = { "package.json": '{"name":"@stackwright/shelf"}', ...files };
  for (const [name, text] of Object.entries(all)) {
    const path = join(root.path, "packages/shelf", name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const [graph] = folderGraphs(root.path);
  if (graph === undefined) throw new Error("no package found");
  return graph;
}

describe("circles between folders", () => {
  it("are none where folders import one way", async () => {
    const graph = await graphOf({
      "src/a/x.ts": 'import { y } from "../b/y.ts";',
      "src/b/y.ts": "export const y = 1;",
    });
    expect(graph.circles).toEqual([]);
    expect([...graph.edges.keys()]).toEqual(["a"]);
  });

  it("are found over several folders, in imports of types, re-exports and dynamic imports", async () => {
    const graph = await graphOf({
      "src/a/x.ts": 'import type { Y } from "../b/y.ts";',
      "src/b/y.ts": 'export { z } from "../c/deep/z.ts";',
      "src/c/deep/z.ts": 'export const z = () => import("../../a/x.ts");',
      "src/d/w.ts": 'import "../a/x.ts";',
    });
    expect(graph.circles).toEqual([["a", "b", "c"]]);
    expect(describeCircles(graph)).toEqual([
      "packages/shelf: the folders a, b, c import one another: " +
        "a/x.ts -> b/y.ts; b/y.ts -> c/deep/z.ts; c/deep/z.ts -> a/x.ts",
    ]);
  });

  it("do not count tests and files directly in src", async () => {
    const graph = await graphOf({
      "src/a/x.ts": 'import "../b/y.ts"; import "../index.ts";',
      "src/b/y.ts": "export const y = 1;",
      "src/b/y.test.ts": 'import "../a/x.ts";',
      "src/index.ts": 'export * from "./a/x.ts"; export * from "./b/y.ts";',
    });
    expect(graph.circles).toEqual([]);
  });
});
