import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { BundleFiles } from "../eval/host.ts";
import { createDirectoryFiles } from "./directory-files.ts";
import { changedReads, FileReads } from "./file-reads.ts";

function tree(): { readonly root: string; readonly open: (root: string) => BundleFiles } {
  const scratch = mkdtempSync(join(tmpdir(), "reads-"));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  const root = join(scratch, "tree");
  mkdirSync(join(root, "live"), { recursive: true });
  writeFileSync(join(root, "live/a.txt"), "A");
  writeFileSync(join(root, "b.txt"), "B");
  writeFileSync(join(scratch, "outside.txt"), "O");
  const open = (folder: string): BundleFiles =>
    createDirectoryFiles(join(folder, "live"), {
      machine: { workingDirectory: folder, home: "/", bundleRoot: folder },
    });
  return { root, open };
}

it("records what was read by paths that a copy of the tree has as well", () => {
  const { root, open } = tree();
  const reads = new FileReads();
  const files = reads.wrap(open(root));
  files.read("a.txt");
  files.read(join(root, "b.txt"));
  files.read(join(root, "../outside.txt"));
  files.exists("none.txt");
  files.list("..", "*.txt");
  expect(() => files.read("none.txt")).toThrow("no file exists");
  const recorded = reads.recorded();
  expect(recorded.map(({ path, pattern = "" }) => `${path} ${pattern}`.trim())).toEqual([
    ".. *.txt",
    "../b.txt",
    join(root, "../outside.txt"),
    "a.txt",
    "none.txt",
    "none.txt",
  ]);
  expect(changedReads(open(root), recorded)).toEqual([]);
  const copy = join(root, "../copy");
  cpSync(root, copy, { recursive: true });
  expect(changedReads(open(copy), recorded)).toEqual([]);
});

it.each([
  ["live/a.txt", "a.txt"],
  ["b.txt", "../b.txt"],
  ["live/none.txt", "none.txt"],
  ["c.txt", ".."],
])("finds that %s changed", (written, found) => {
  const { root, open } = tree();
  const reads = new FileReads();
  const files = reads.wrap(open(root));
  files.read("a.txt");
  files.read("../b.txt");
  files.exists("none.txt");
  files.list("..", "*.txt");
  writeFileSync(join(root, written), "changed");
  expect(changedReads(open(root), reads.recorded()).map(({ path }) => path)).toEqual([found]);
});

it("lists no deeper than a pattern reaches", () => {
  const { root, open } = tree();
  const files = open(root);
  expect(files.list("..", "*.txt")).toEqual(["b.txt"]);
  expect(files.list("..", "*/*.txt")).toEqual(["b.txt", "live/a.txt"]);
  expect(files.list("..")).toEqual(["b.txt", "live/a.txt"]);
});

it("frees the bytes of a large file, and no others", () => {
  const { root, open } = tree();
  writeFileSync(join(root, "live/large.txt"), "x".repeat(2_000_000));
  const files = new FileReads().wrap(open(root));
  const large = files.read("large.txt");
  const small = files.read("a.txt");
  files.discard?.(large);
  files.discard?.(small);
  expect(large).toHaveLength(0);
  expect(small).toEqual(Buffer.from("A"));
  expect(files.read("large.txt")).toHaveLength(2_000_000);
});
