import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FunctionError } from "../eval/function.ts";
import { createDirectoryFiles } from "../function/directory-files.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import {
  type LoadedTree,
  loadCalledTree,
  loadModuleTree,
  type PackageRequest,
  type TreeOptions,
} from "./load-tree.ts";
import { formatModuleSource } from "./module-source.ts";

const MACHINE = { workingDirectory: "/", home: "/" };

function load(files: Record<string, string>, options?: TreeOptions): Promise<LoadedTree> {
  return loadModuleTree(memoryBundle(files), options);
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

  it("refuses links that lead nowhere, and passes over those to folders and of editors", async () => {
    const folder = mkdtempSync(join(tmpdir(), "load-tree-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "main.tf"), "");
    writeFileSync(join(folder, "text"), "locals { a = 1 }");
    symlinkSync("text", join(folder, "linked.tf"));
    symlinkSync(".", join(folder, "folder.tf"));
    symlinkSync("user@host.1234", join(folder, ".#main.tf"));
    symlinkSync("nowhere", join(folder, "notes.txt"));
    symlinkSync("nowhere", join(folder, "shared.tf"));
    symlinkSync("circle_override.tf", join(folder, "circle_override.tf"));
    for (const machine of [undefined, MACHINE]) {
      const files = createDirectoryFiles(folder, machine && { machine });
      const { root, diagnostics } = await loadModuleTree(files);
      const advice =
        "Put the file that it stands for in its place, or remove the link, which ends the objects that the file declares.";
      expect(diagnostics.map(({ severity, detail }) => [severity, detail])).toEqual(
        ["shared.tf", "circle_override.tf"].map((name) => [
          "error",
          `The file "${name}" is a link that leads to no file of the configuration. ${advice}`,
        ]),
      );
      expect(root.config.locals.size).toBe(1);
    }
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
    ['module "a" { source = "./none" }', ["Unreadable module directory"]],
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

  it("takes packages from where they are said to be", async () => {
    const asked: string[] = [];
    const files = memoryBundle({
      "p/sub/main.tf": 'output "o" { value = 1 }\nmodule "in" { source = "../in" }',
      "p/in/main.tf": 'module "out" { source = "../../q" }',
      "q/main.tf": "",
    });
    const packages = {
      locate: async ({ path, source, call }: PackageRequest) => {
        asked.push(`${path.join(".")} ${formatModuleSource(source)} ${String(call.version)}`);
        if (source.address.endsWith("/gone")) throw new Error("it is gone");
        return { files: { ...files, machine: MACHINE }, folder: "p/sub", packageFolder: "p" };
      },
    };
    const text =
      'module "a" {\n  source = "acme/net/cloud//sub"\n  version = "~> 1.0"\n}\nmodule "b" { source = "git::https://me:pass@h.test/gone" }';
    const { root, diagnostics } = await load({ "main.tf": text }, { packages });
    expect(asked).toEqual([
      "a registry.terraform.io/acme/net/cloud//sub ~> 1.0",
      "b git::https://me:pass@h.test/gone undefined",
    ]);
    const a = root.children.get("a");
    expect([a?.config.outputs.size, a?.children.get("in")?.folder]).toEqual([1, "p/in"]);
    expect(diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`)).toEqual([
      'Module not available: The module "b" from "git::https://me:REDACTED@h.test/gone" cannot be loaded: it is gone.',
      expect.stringContaining("Local module path escapes module package: "),
    ]);
  });

  it("takes local modules of a machine from any folder", async () => {
    const root = mkdtempSync(join(tmpdir(), "tree-"));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    write("live/prod/main.tf", 'module "a" { source = "../../modules/a" }');
    write("modules/a/main.tf", 'module "b" { source = ".././b/" }');
    write("modules/b/main.tf", "output {}");
    const files = createDirectoryFiles(join(root, "live/prod"), { machine: MACHINE });
    const { root: tree, diagnostics } = await loadModuleTree(files);
    const b = tree.children.get("a")?.children.get("b");
    expect(b?.folder).toBe("../../modules/b");
    expect(diagnostics.map(({ subject }) => subject?.source.name)).toEqual([
      "../../modules/b/main.tf",
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
    const { diagnostics } = await load({ "main.tf": wide, "m/main.tf": "" }, { maxModules: 10 });
    expect(diagnostics).toMatchObject([
      {
        summary: "Too many modules",
        detail: expect.stringMatching(/at most 10 modules.* 11 calls were not followed\.$/),
        subject: { source: { name: "main.tf" } },
      },
    ]);
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

describe("loadCalledTree", () => {
  const CALLER = {
    "main.tf": 'module "m" { source = "./m" }',
    "m/main.tf": 'output "o" { value = 1 }',
  };

  it("loads the module of a call, and refuses a folder without files", async () => {
    const call = (await load(CALLER)).root.config.modules.get("m");
    if (call === undefined) throw new Error("there is no call");
    const found = await loadCalledTree(memoryBundle(CALLER), call, ["m"]);
    expect("root" in found && found.root.config.outputs.has("o")).toBe(true);
    const none = await loadCalledTree(memoryBundle({}), call, ["m"]);
    expect("root" in none).toBe(false);
    expect(none.diagnostics.map(({ summary }) => summary)).toEqual(["Unreadable module directory"]);
  });
});
