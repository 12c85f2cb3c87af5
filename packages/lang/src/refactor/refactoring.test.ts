import { Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { formatAddress, type ResourceAddress } from "../address/address.ts";
import { parseAddress } from "../address/parse-address.ts";
import { loadModuleTree, type ModuleNode } from "../config/load-tree.ts";
import { createModuleScope } from "../config/module-scope.ts";
import { consoleScope } from "../console/console.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { applyMoves, withImpliedMoves } from "./apply-moves.ts";
import { evaluateImports } from "./import-blocks.ts";
import { checkMovedInstances } from "./moved-blocks.ts";
import { collectRefactoring, type Refactoring } from "./refactoring.ts";
import { removedBy } from "./removed-blocks.ts";

async function load(
  main: string,
  files: Record<string, string> = {},
): Promise<{ root: ModuleNode; refactoring: Refactoring; problems: string[] }> {
  const { root, diagnostics } = await loadModuleTree(memoryBundle({ "main.tf": main, ...files }));
  const refactoring = collectRefactoring(root);
  const problems = [...diagnostics, ...refactoring.diagnostics].map(({ summary }) => summary);
  return { root, refactoring, problems };
}

function resource(text: string): ResourceAddress {
  const { value } = parseAddress(text);
  if (value?.kind !== "resource") throw new Error(text);
  return value;
}

function moved(from: string, to: string): string {
  return `moved {\n  from = ${from}\n  to   = ${to}\n}\n`;
}

/** `a => b` for everything that moves, `a =/=> b` for what is blocked. */
async function run(
  main: string,
  recorded: readonly string[],
  files?: Record<string, string>,
): Promise<string[]> {
  const { root, refactoring, problems } = await load(main, files);
  expect(problems).toEqual([]);
  const addresses = recorded.map(resource);
  const moves = withImpliedMoves(root, refactoring.moves, addresses);
  const { moved: changed, blocked } = applyMoves(moves, addresses);
  return [
    ...changed.map(({ from, to }) => `${formatAddress(from)} => ${formatAddress(to)}`),
    ...blocked.map(({ from, to }) => `${formatAddress(from)} =/=> ${formatAddress(to)}`),
  ];
}

describe("moves", () => {
  it.each([
    [
      "a resource with all instances",
      moved("r.a", "r.b"),
      ["r.a[0]", "r.a[1]", "r.c"],
      ["r.a[0] => r.b[0]", "r.a[1] => r.b[1]"],
    ],
    ["one instance", moved('r.a["x"]', "r.b"), ['r.a["x"]', 'r.a["y"]'], ['r.a["x"] => r.b']],
    [
      "the instance without key",
      moved("r.a", 'r.a["x"]') + 'resource "r" "a" { for_each = {} }',
      ["r.a"],
      ['r.a => r.a["x"]'],
    ],
    [
      "a module with all instances",
      moved("module.a", "module.b"),
      ["module.a[0].r.x", "module.a[1].module.c.r.y"],
      [
        "module.a[0].r.x => module.b[0].r.x",
        "module.a[1].module.c.r.y => module.b[1].module.c.r.y",
      ],
    ],
    [
      "one module instance",
      moved("module.a[0]", "module.b"),
      ["module.a[0].r.x", "module.a[1].r.x"],
      ["module.a[0].r.x => module.b.r.x"],
    ],
    [
      "into and out of modules",
      moved("r.a", "module.m.r.a") + moved("module.n.r.b", "r.b"),
      ["r.a", "module.n.r.b"],
      ["r.a => module.m.r.a", "module.n.r.b => r.b"],
    ],
    ["another type", moved("r.a", "s.a"), ["r.a[0]"], ["r.a[0] => s.a[0]"]],
    [
      "a chain, however it is written",
      moved("r.b", "r.c") + moved("r.a", "r.b"),
      ["r.a"],
      ["r.a => r.c"],
    ],
    [
      "into a module that moves",
      moved("module.y.r.b", "r.a") + moved("module.x", "module.y"),
      ["module.x.r.b", "module.x.r.c"],
      ["module.x.r.b => r.a", "module.x.r.c => module.y.r.c"],
    ],
    [
      "out of a module before it moves",
      moved("module.x", "module.y") + moved("module.x.r.c", "r.c"),
      ["module.x.r.b", "module.x.r.c"],
      ["module.x.r.b => module.y.r.b", "module.x.r.c => r.c"],
    ],
    [
      "an instance out of a resource before that moves",
      moved("r.a", "r.b") + moved('r.a["x"]', "r.c"),
      ['r.a["x"]', 'r.a["y"]'],
      ['r.a["x"] => r.c', 'r.a["y"] => r.b["y"]'],
    ],
    [
      "an instance out of a module before that moves",
      moved("module.a", "module.b") + moved("module.a[0]", "module.c"),
      ["module.a[0].r.x", "module.a[1].r.x"],
      ["module.a[0].r.x => module.c.r.x", "module.a[1].r.x => module.b[1].r.x"],
    ],
    [
      "an instance to a resource behind what moves there as a whole",
      moved('r.c["z"]', 'r.b["z"]') + moved("r.a", "r.b"),
      ['r.c["z"]', 'r.a["y"]'],
      ['r.c["z"] => r.b["z"]', 'r.a["y"] => r.b["y"]'],
    ],
    [
      "not over something else",
      moved("r.a", "r.b"),
      ["r.a[0]", "r.a[1]", "r.b[7]"],
      ["r.a[0] =/=> r.b[0]", "r.a[1] =/=> r.b[1]"],
    ],
    [
      "not over another instance",
      moved("r.a[0]", "r.b[0]"),
      ["r.a[0]", "r.b[0]"],
      ["r.a[0] =/=> r.b[0]"],
    ],
    [
      "not over a module",
      moved("module.a", "module.b"),
      ["module.a.r.x", "module.b.r.y"],
      ["module.a.r.x =/=> module.b.r.x"],
    ],
    [
      "not what has a key where none is meant",
      moved("module.a.r.x", "r.x"),
      ["module.a[0].r.x"],
      [],
    ],
    ["a count that came", 'resource "r" "a" { count = 2 }', ["r.a", "r.b"], ["r.a => r.a[0]"]],
    ["a count that went", 'resource "r" "a" {}', ["r.a[0]", "r.a[1]"], ["r.a[0] => r.a"]],
    [
      "a count that came after a move",
      moved("r.o", "r.a[0]") + 'resource "r" "a" { count = 1 }',
      ["r.o"],
      ["r.o => r.a[0]"],
    ],
    ["no for_each that came", 'resource "r" "a" { for_each = {} }', ["r.a", "r.a[0]"], []],
    [
      "no count over what is there",
      'resource "r" "a" { count = 2 }',
      ["r.a", "r.a[0]"],
      ["r.a =/=> r.a[0]"],
    ],
  ])("%s", async (_, main, recorded, expected) => {
    expect(await run(main, recorded)).toEqual(expected);
  });

  it("move in all instances of the module that declares them", async () => {
    const main = 'module "m" {\n  source = "./m"\n  count = 2\n}\n' + moved("module.o", "module.m");
    const child = moved("r.a", "r.b") + 'resource "r" "n" { count = 1 }';
    const recorded = ["module.m[0].r.a", "module.m[1].r.a", "module.m[1].r.n", "module.o[5].r.a"];
    expect(await run(main, recorded, { "m/main.tf": child })).toEqual([
      "module.m[0].r.a => module.m[0].r.b",
      "module.m[1].r.a => module.m[1].r.b",
      "module.m[1].r.n => module.m[1].r.n[0]",
      "module.o[5].r.a => module.m[5].r.b",
    ]);
  });

  it("follow long chains", async () => {
    const count = 2000;
    const main = Array.from({ length: count }, (_, at) => moved(`r.a${at}`, `r.a${at + 1}`));
    expect(await run(main.toReversed().join(""), ["r.a0"])).toEqual([`r.a0 => r.a${count}`]);
  });
});

it("applies many moves to many addresses", async () => {
  const count = 2000;
  const main = Array.from({ length: count }, (_, at) => moved(`module.a${at}`, `module.b${at}`));
  const recorded = Array.from({ length: 10_000 }, (_, at) => `module.a${at % count}.r.x[${at}]`);
  const changes = await run(main.join(""), recorded);
  expect(changes).toHaveLength(10_000);
  expect(changes[1]).toBe("module.a1.r.x[1] => module.b1.r.x[1]");
});

describe("checks of moved, removed and import blocks", () => {
  const data = 'resource "r" "a" {}\n';
  it.each([
    [data + moved("r.a", "r.a"), ["Redundant move statement"]],
    [moved("module.a", "r.a"), ['Invalid "moved" addresses']],
    [moved("data.r.a", "r.a"), ['Invalid "moved" addresses']],
    [moved("r.b", "r.x") + moved("r.b", "r.y"), ["Ambiguous move statements"]],
    [moved("r.x", "r.b") + moved("r.y", "r.b"), ["Ambiguous move statements"]],
    [moved("r.x", "r.b") + moved("r.x", "r.b"), []],
    [moved("r.x", "r.y") + moved("r.y", "r.x"), ["Cyclic dependency in move statements"]],
    [
      moved("module.x", "module.y") + moved("module.y.module.z", "module.x"),
      ["Cyclic dependency in move statements"],
    ],
    [data + moved("r.a", "r.b"), ["Moved object still exists"]],
    [data + moved("r.a", "r.b[0]"), ["Moved object still exists"]],
    [data + moved("r.b", "r.c"), []],
    [moved("r.a.b", "r.c"), ["Invalid address"]],
    ["removed { from = r.b[0] }", ["Instance keys not allowed"]],
    ["removed { from = module.b[0].r.x }", ["Instance keys not allowed"]],
    ["removed { from = data.r.b }", ["Resource cannot be removed"]],
    [`${data}removed { from = r.a }`, ["Removed resource still exists"]],
    [
      "removed { from = r.b }\nremoved {\n  from = r.b\n  lifecycle {\n    destroy = false\n  }\n}",
      ["Conflicting removed blocks"],
    ],
    ["removed { from = r.b }\nremoved { from = r.b }", []],
    [`removed { from = r.b }\n${moved("r.b", "r.c")}`, ["Removed block has no effect"]],
    [`removed { from = r.c }\n${moved("r.b", "r.c")}`, []],
    [
      `${data}import {\n  to = r.a\n  id = "x"\n  provider = r\n}`,
      ["Invalid import provider argument"],
    ],
  ])("%j", async (main, expected) => {
    expect((await load(main)).problems).toEqual(expected);
  });

  it("knows modules that are still called, and packages", async () => {
    const call = 'module "m" { source = "./m" }\n';
    const files = { "m/main.tf": 'import {\n  to = r.a\n  id = "x"\n}\nresource "r" "a" {}' };
    expect((await load(`${call}removed { from = module.m }`, files)).problems).toEqual([
      "Removed module still exists",
      "Invalid import configuration",
    ]);
    expect((await load(call + moved("module.m", "module.n"), files)).problems).toEqual([
      "Moved object still exists",
      "Invalid import configuration",
    ]);
    const main = memoryBundle({
      "main.tf": `module "x" { source = "git::https://h.test/r.git" }\n${moved("r.a", "module.x.r.a")}`,
    });
    const other = memoryBundle({ "main.tf": 'resource "r" "a" {}' });
    const packages = { locate: async () => ({ files: other, folder: ".", packageFolder: "." }) };
    const { root } = await loadModuleTree(main, { packages });
    expect(collectRefactoring(root).diagnostics.map(({ summary }) => summary)).toEqual([
      "Cross-package move statement",
    ]);
  });

  it("sees two moves of one thing in different modules", async () => {
    const main = `module "m" { source = "./m" }\n${moved("module.m.r.a[0]", "r.a")}`;
    const { problems } = await load(main, { "m/main.tf": moved("r.a[0]", "r.b[0]") });
    expect(problems).toEqual(["Ambiguous move statements"]);
  });

  it("checks single instances when it is known which there are", async () => {
    const main = `resource "r" "a" { count = 2 }\n${moved("r.a[1]", "r.b")}${moved("r.a[2]", "r.c")}`;
    const { refactoring } = await load(main);
    const diagnostics: Diagnostic[] = [];
    checkMovedInstances(refactoring.moves, ["r.a[0]", "r.a[1]"].map(resource), diagnostics);
    expect(diagnostics.map(({ detail }) => detail)).toEqual([
      "This moves r.a[1] away, but there still is an instance r.a[1].",
    ]);
  });

  it("destroys nothing of a module that another block only forgets", async () => {
    const { refactoring } = await load(
      "removed {\n  from = module.x\n  lifecycle {\n    destroy = false\n  }\n}\nremoved { from = module.x.r.a }",
    );
    expect(removedBy(refactoring.removed, resource("module.x.r.a"))?.destroy).toBe(false);
  });

  it("finds a circle of an instance and its resource that move to the same one", async () => {
    const { problems } = await load(moved("r.a", "r.b") + moved('r.a["x"]', 'r.b["z"]'));
    expect(problems).toEqual(["Cyclic dependency in move statements"]);
  });

  it("finds the removed block about an address", async () => {
    const { refactoring } = await load(
      "removed { from = module.x }\nremoved {\n  from = module.x.r.a\n  lifecycle {\n    destroy = false\n  }\n}",
    );
    const about = (text: string): boolean | undefined =>
      removedBy(refactoring.removed, resource(text))?.destroy;
    expect([about("module.x[0].r.a[1]"), about("module.x.r.b"), about("r.a")]).toEqual([
      false,
      true,
      undefined,
    ]);
  });
});

describe("evaluateImports", () => {
  async function imports(main: string): Promise<string[]> {
    const { root } = await load(`resource "r" "a" {}\nresource "r" "b" { for_each = {} }\n${main}`);
    const scope = createModuleScope(
      root.config,
      {
        variables: new Map([["later", Value.unknown(Type.string)]]),
        resource: () => undefined,
        module: () => undefined,
        folder: ".",
        workspace: "default",
      },
      consoleScope().functions,
    );
    const diagnostics: Diagnostic[] = [];
    const requests = evaluateImports(root, scope, diagnostics);
    return [
      ...requests.map(
        ({ to, id, identity }) =>
          `${formatAddress(to)} <- ${id ?? (identity === undefined ? "" : "identity")}`,
      ),
      ...diagnostics.map(({ summary }) => summary),
    ];
  }

  it.each([
    ['import {\n  to = r.a\n  id = "x-${1 + 1}"\n}', ["r.a <- x-2"]],
    ['import {\n  to = r.a\n  identity = { name = "x" }\n}', ["r.a <- identity"]],
    [
      'import {\n  for_each = { k = "1", l = "2" }\n  to = r.b[each.key]\n  id = each.value\n}',
      ['r.b["k"] <- 1', 'r.b["l"] <- 2'],
    ],
    ['import {\n  to = r.a\n  id = ""\n}', ["Invalid import argument"]],
    ["import {\n  to = r.a\n  id = null\n}", ["Invalid import argument"]],
    ["import {\n  to = r.a\n  id = var.later\n}", ["Invalid import argument"]],
    ["import {\n  to = r.a\n  id = []\n}", ["Invalid import argument"]],
    ['import {\n  to = r.nope\n  id = "x"\n}', ["Configuration for import target does not exist"]],
    ['import {\n  to = module.m\n  id = "x"\n}', ["Invalid import address"]],
    ['import {\n  to = data.r.a\n  id = "x"\n}', ["Invalid import address"]],
    [
      'import {\n  to = r.a\n  id = "x"\n}\nimport {\n  to = r.a\n  id = "y"\n}',
      ["r.a <- x", "Duplicate import configuration"],
    ],
    ['import {\n  for_each = [1]\n  to = r.a\n  id = "x"\n}', ["Invalid for_each argument"]],
  ])("%j", async (main, expected) => {
    expect(await imports(main)).toEqual(expected);
  });
});
