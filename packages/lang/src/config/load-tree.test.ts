import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FunctionError } from "../eval/function.ts";
import type { BundleFiles } from "../eval/host.ts";
import { createDirectoryFiles } from "../function/directory-files.ts";
import { type LoadedTree, loadModuleTree, type TreeOptions } from "./load-tree.ts";
import { parseModuleSource } from "./module-source.ts";

/** Files in memory as a bundle. */
function bundle(files: Record<string, string>): BundleFiles {
  return {
    read: (path) => new TextEncoder().encode(files[path] ?? ""),
    exists: (path) => path in files,
    list: (folder) => {
      const prefix = folder === "." ? "" : `${folder}/`;
      return Object.keys(files)
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length));
    },
    absolute: (path) => `/${path}`,
  };
}

function load(files: Record<string, string>, options?: TreeOptions): Promise<LoadedTree> {
  return loadModuleTree(bundle(files), options);
}

async function summaries(files: Record<string, string>, options?: TreeOptions): Promise<string[]> {
  return (await load(files, options)).diagnostics.map(({ summary }) => summary);
}

describe("loadModuleTree", () => {
  it("loads modules of the bundle, wherever they are called from", async () => {
    const { root, diagnostics } = await load({
      "main.tf": 'module "a" {\n  source = "./modules/a"\n  x = 1\n}',
      "modules/a/main.tf": 'variable "x" {}\nmodule "b" { source = "../b" }',
      "modules/b/main.tf.json": '{ "output": { "o": { "value": 1 } } }',
    });
    expect(diagnostics).toEqual([]);
    const b = root.children.get("a")?.children.get("b");
    expect([b?.path, b?.folder, [...(b?.config.outputs.keys() ?? [])]]).toEqual([
      ["a", "b"],
      "modules/b",
      ["o"],
    ]);
  });

  it("reports problems of all modules with their files", async () => {
    const { diagnostics } = await load({
      "main.tf": 'module "a" { source = "./a" }\nnope {}',
      "a/main.tf": "output {}",
    });
    expect(
      diagnostics.map(({ subject, summary }) => `${subject?.source.name}: ${summary}`),
    ).toEqual(["a/main.tf: Missing name for output", "main.tf: Unsupported block type"]);
  });

  it.each([
    ['module "a" {\n  source = "./a"\n  x = 1\n  zz = 2\n}', ["Unsupported argument"]],
    ['module "a" { source = "./a" }', ["Missing required argument"]],
    ['module "a" {\n  source = "./a"\n  x = 1\n  block {}\n}', ["Unsupported block type"]],
    ['module "a" { source = "./none" }', ["Module not found"]],
    ['module "a" { source = "../out" }', ["Module not available"]],
    ['module "a" { source = "acme/net/cloud" }', ["Module source not allowed"]],
    [
      'module "a" { source = "git::https://host.test/r.git?ref=v1" }',
      ["Module source not allowed"],
    ],
    [
      'module "p" {\n  source = "./p"\n  count = 2\n}',
      ["Module is incompatible with count, for_each, and depends_on"],
    ],
    ['module "s" { source = "./." }', ["Module calls itself"]],
  ])("%j", async (text, expected) => {
    const files = {
      "main.tf": text,
      "a/main.tf": 'variable "x" {}\nvariable "y" { default = 1 }',
      "p/main.tf": 'module "i" { source = "./i" }',
      "p/i/main.tf": 'provider "q" { region = 1 }',
    };
    expect(await summaries(files)).toEqual(expected);
  });

  it("fetches other modules where they are allowed", async () => {
    const asked: string[] = [];
    const fetcher = {
      allow: ({ address }: { address: string }) => address.startsWith("acme/"),
      fetch: (source: { address: string; folder: string }, version: unknown) => {
        asked.push(`${source.address} ${source.folder} ${String(version)}`);
        if (source.address.endsWith("/gone")) return Promise.reject(new Error("it is gone"));
        return Promise.resolve(bundle({ "sub/main.tf": 'output "o" { value = 1 }' }));
      },
    };
    const text =
      'module "a" {\n  source = "acme/net/cloud//sub"\n  version = "~> 1.0"\n}\nmodule "b" { source = "acme/net/gone" }';
    const { root, diagnostics } = await load({ "main.tf": text }, { fetcher });
    expect(asked).toEqual(["acme/net/cloud sub ~> 1.0", "acme/net/gone . undefined"]);
    expect(root.children.get("a")?.config.outputs.size).toBe(1);
    expect(diagnostics.map(({ detail }) => detail)).toEqual([
      'The module "acme/net/gone" cannot be loaded: it is gone.',
    ]);
  });

  it("bounds depth and number of modules", async () => {
    const files: Record<string, string> = { "main.tf": 'module "m" { source = "./m0" }' };
    for (let depth = 0; depth < 50; depth++)
      files[`m${depth}/main.tf`] = `module "m" { source = "../m${depth + 1}" }`;
    expect(await summaries(files)).toEqual(["Modules nested too deeply"]);
    const wide = Array.from({ length: 20 }, (_, at) => `module "m${at}" { source = "./m" }`).join(
      "\n",
    );
    const found = await summaries({ "main.tf": wide, "m/main.tf": "" }, { maxModules: 10 });
    expect(new Set(found)).toEqual(new Set(["Too many modules"]));
  });
});

describe("parseModuleSource", () => {
  it.each([
    ["./a", { kind: "local", path: "./a" }],
    ["..", { kind: "local", path: ".." }],
    ["ns/name/system", { kind: "registry", address: "ns/name/system", folder: "." }],
    [
      "host.test/ns/name/system//a/b",
      { kind: "registry", address: "host.test/ns/name/system", folder: "a/b" },
    ],
    ["github.com/owner/repo", { kind: "remote", address: "github.com/owner/repo", folder: "." }],
    [
      "git::https://host.test/r.git//sub?ref=v1",
      { kind: "remote", address: "git::https://host.test/r.git?ref=v1", folder: "sub" },
    ],
    [
      "https://host.test/a.zip",
      { kind: "remote", address: "https://host.test/a.zip", folder: "." },
    ],
  ])("%s", (source, expected) => {
    expect(parseModuleSource(source)).toEqual(expected);
  });
});

describe("createDirectoryFiles", () => {
  let folder = "";
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "bundle-"));
    write("root/a.txt", "A");
    write("root/sub/b.txt", "B");
    write("secret.txt", "S");
    symlinkSync(join(folder, "secret.txt"), join(folder, "root/leak.txt"));
    symlinkSync(join(folder, "root/a.txt"), join(folder, "root/sub/link.txt"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it("reads, lists and finds files below the folder", () => {
    const files = createDirectoryFiles(join(folder, "root"));
    expect(Buffer.from(files.read("sub/b.txt")).toString()).toBe("B");
    expect(files.list(".")).toEqual(["a.txt", "sub/b.txt", "sub/link.txt"]);
    expect(files.list("sub")).toEqual(["b.txt", "link.txt"]);
    expect(files.list("none")).toEqual([]);
    expect([files.exists("a.txt"), files.exists("none")]).toEqual([true, false]);
    expect(files.absolute("sub")).toBe("/sub");
  });

  it.each([
    "../secret.txt",
    "/etc/passwd",
    "sub/../../secret.txt",
    "leak.txt",
    "~/x",
    "a\0b",
    "sub",
    "none",
  ])("refuses %j", (path) => {
    const files = createDirectoryFiles(join(folder, "root"), { maxFileBytes: 10 });
    expect(() => files.read(path)).toThrow(FunctionError);
  });

  it("bounds the size of files", () => {
    const files = createDirectoryFiles(folder, { maxFileBytes: 0 });
    expect(() => files.read("secret.txt")).toThrow(FunctionError);
  });
});
