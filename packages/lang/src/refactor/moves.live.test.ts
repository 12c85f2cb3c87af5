import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Address,
  formatAddress,
  formatModulePath,
  type ModulePath,
  type ResourceAddress,
  resourceAt,
} from "../address/address.ts";
import { parseAddress } from "../address/parse-address.ts";
import { loadModuleTree, type ModuleNode } from "../config/load-tree.ts";
import type { Repetition } from "../config/module-config.ts";
import type { InstanceKey } from "../config/reference.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { requireTerraform } from "../testing/terraform-command.ts";
import { applyMoves, withImpliedMoves } from "./apply-moves.ts";
import { checkMovedInstances } from "./moved-blocks.ts";
import { collectRefactoring } from "./refactoring.ts";

/*
 * Random moves over random states, compared with what the reference command plans: which are refused,
 * what moves where, and what is blocked.
 */

interface Case {
  readonly files: Readonly<Record<string, string>>;
  readonly recorded: readonly string[];
}

const TYPE = "terraform_data";
const module_ = fc.constantFrom("module.m", "module.n", 'module.m["k"]', "module.m[0]");
const own = fc.constantFrom(
  `${TYPE}.a`,
  `${TYPE}.b`,
  `${TYPE}.c`,
  `${TYPE}.a[0]`,
  `${TYPE}.b[1]`,
  `${TYPE}.c["k"]`,
);
const resource = fc.oneof(
  { weight: 3, arbitrary: own },
  { weight: 2, arbitrary: fc.tuple(module_, own).map((parts) => parts.join(".")) },
);
const move = fc
  .oneof(
    { weight: 3, arbitrary: fc.tuple(resource, resource) },
    { weight: 2, arbitrary: fc.tuple(module_, module_) },
  )
  .map(([from, to]) => `moved {\n  from = ${from}\n  to   = ${to}\n}\n`);

const repetition = fc.constantFrom("", "count = 2", 'for_each = toset(["k"])');
const declared = fc
  .tuple(fc.constantFrom("a", "b", "c"), repetition)
  .map(([name, repeat]) => [name, `resource "${TYPE}" "${name}" {\n  ${repeat}\n}\n`] as const);
const blocks = fc
  .uniqueArray(declared, { maxLength: 2, selector: ([name]) => name })
  .map((all) => all.map(([, text]) => text).join(""));

const someCase: fc.Arbitrary<Case> = fc
  .record({
    moves: fc.array(move, { minLength: 1, maxLength: 4 }),
    main: blocks,
    call: fc.constantFrom("", "", "m", "n"),
    repeat: repetition,
    inner: blocks,
    innerMoves: fc.array(
      fc.tuple(own, own).map(([from, to]) => `moved {\n  from = ${from}\n  to   = ${to}\n}\n`),
      { maxLength: 1 },
    ),
    recorded: fc.uniqueArray(resource, { minLength: 1, maxLength: 6 }),
  })
  .map(({ moves, main, call, repeat, inner, innerMoves, recorded }): Case => {
    const caller = call === "" ? "" : `module "${call}" {\n  source = "./child"\n  ${repeat}\n}\n`;
    const child = `${inner}${innerMoves.join("")}locals {}\n`;
    return {
      files: { "main.tf": `${main}${caller}${moves.join("")}`, "child/main.tf": child },
      recorded,
    };
  });

function addressOf(text: string): ResourceAddress {
  const { value } = parseAddress(text);
  if (value?.kind !== "resource") throw new Error(text);
  return value;
}

/** A state of the command that has these instances. */
function stateOf(recorded: readonly string[]): string {
  const resources = new Map<string, { key: unknown[]; address: ResourceAddress }>();
  for (const text of recorded) {
    const address = addressOf(text);
    const whole = formatAddress({ ...address, key: undefined });
    const known = resources.get(whole) ?? { key: [], address };
    known.key.push(address.key);
    resources.set(whole, known);
  }
  return JSON.stringify({
    version: 4,
    terraform_version: "1.11.4",
    serial: 1,
    lineage: "00000000-0000-4000-8000-000000000000",
    outputs: {},
    resources: [...resources.values()].map(({ key, address }) => ({
      ...(address.module.length > 0 && { module: formatModulePath(address.module) }),
      mode: "managed",
      type: TYPE,
      name: address.name,
      provider: 'provider["terraform.io/builtin/terraform"]',
      instances: key.map((index) => ({
        ...(index !== undefined && { index_key: index }),
        schema_version: 0,
        attributes: { id: "x", input: null, output: null, triggers_replace: null },
      })),
    })),
  });
}

interface Planned {
  readonly resource_changes?: readonly { address: string; previous_address?: string }[];
}

/** `a => b` for what the command moves; undefined where it refuses the moves. */
function commandMoves(command: string, folder: string): string[] | undefined {
  const run = (...args: string[]): ReturnType<typeof spawnSync> =>
    spawnSync(command, args, {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1" },
    });
  const init = run("init", "-input=false", "-no-color");
  if (init.status !== 0) return undefined;
  const plan = run("plan", "-input=false", "-refresh=false", "-no-color", "-out=plan");
  if (plan.status !== 0) return undefined;
  const shown = run("show", "-json", "plan");
  const { resource_changes: changes = [] } = JSON.parse(String(shown.stdout)) as Planned;
  return changes.flatMap(({ address, previous_address: previous }) =>
    previous === undefined ? [] : [`${previous} => ${address}`],
  );
}

/** The keys that the repetitions above give. */
function keysOf({ count, forEach }: Repetition): readonly InstanceKey[] | readonly [undefined] {
  if (count !== undefined) return [0, 1];
  return forEach === undefined ? [undefined] : ["k"];
}

/** All instances of modules and resources in a module instance. */
function instancesOf({ config, children }: ModuleNode, path: ModulePath): Address[] {
  const resources = [...config.resources.values()].flatMap((declaration) =>
    keysOf(declaration).map((key) => resourceAt(path, declaration, key)),
  );
  const modules = [...config.modules].flatMap(([name, call]) => {
    const child = children.get(name);
    return keysOf(call).flatMap((key): Address[] => {
      const module = [...path, { name, key }];
      return [
        { kind: "module", module },
        ...(child === undefined ? [] : instancesOf(child, module)),
      ];
    });
  });
  return [...resources, ...modules];
}

async function ourMoves({ files, recorded }: Case): Promise<string[] | undefined> {
  const { root, diagnostics } = await loadModuleTree(memoryBundle(files));
  const { moves, diagnostics: more } = collectRefactoring(root);
  const found = [...diagnostics, ...more];
  checkMovedInstances(moves, instancesOf(root, []), found);
  if (hasErrors(found)) return undefined;
  const addresses = recorded.map(addressOf);
  return applyMoves(withImpliedMoves(root, moves, addresses), addresses).moved.flatMap(
    ({ from, to }) => {
      const [before, after] = [formatAddress(from), formatAddress(to)];
      return before === after ? [] : [`${before} => ${after}`];
    },
  );
}

describe("moves, compared with the command", () => {
  it("are refused and applied alike", { timeout: 1_800_000 }, async (context) => {
    const terraform = requireTerraform(context);
    const numRuns = Math.max(10, Math.round(10 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
    await context.annotate(`${numRuns} sets of moves`, "count");
    await fc.assert(
      fc.asyncProperty(someCase, async (given) => {
        const folder = mkdtempSync(join(tmpdir(), "moves-"));
        try {
          mkdirSync(join(folder, "child"));
          for (const [name, text] of Object.entries(given.files)) {
            writeFileSync(join(folder, name), text);
          }
          writeFileSync(join(folder, "terraform.tfstate"), stateOf(given.recorded));
          const expected = commandMoves(terraform, folder);
          const actual = await ourMoves(given);
          expect(actual?.toSorted()).toEqual(expected?.toSorted());
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns },
    );
  });
});
