import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadModuleTree } from "../config/load-tree.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import { requireTerraform } from "../testing/terraform-command.ts";
import { buildGraph, type ConfigGraph } from "./build-graph.ts";
import { resolveProviders } from "./resolve-providers.ts";

/*
 * Random configurations of two modules, compared with the graph that the reference command makes of
 * them: which resources wait for which, through whatever is between them, and which have cycles.
 */

const TYPE = "terraform_data";
const NAMES = ["a", "b", "c"] as const;

/** An expression with one reference that is valid in the root module. */
const rootReference = fc.constantFrom(
  ...NAMES.map((name) => `${TYPE}.${name}.id`),
  ...NAMES.map((name) => `local.${name}`),
  "module.m[0].out",
  "module.m[*].other",
  "module.m",
  "var.v",
  '"fixed"',
  '"fixed"',
);
const childReference = fc.constantFrom(
  ...NAMES.map((name) => `${TYPE}.${name}.id`),
  "local.a",
  "local.b",
  "var.in",
  "var.more",
  '"fixed"',
  '"fixed"',
);

function resources(
  reference: fc.Arbitrary<string>,
  targets: readonly string[],
): fc.Arbitrary<string> {
  const one = fc.record({
    input: reference,
    depends: fc.option(fc.constantFrom(...targets), { nil: undefined, freq: 3 }),
    trigger: fc.option(fc.constantFrom(...NAMES), { nil: undefined, freq: 4 }),
    // A condition must not refer to its own resource directly.
    condition: fc.option(fc.constantFrom("local.a", "local.b"), { nil: undefined, freq: 4 }),
  });
  return fc.tuple(one, one, one).map((all) =>
    all
      .map(({ input, depends, trigger, condition }, at) => {
        const rest = [
          depends === undefined ? "" : `  depends_on = [${depends}]\n`,
          trigger === undefined && condition === undefined
            ? ""
            : `  lifecycle {\n${trigger === undefined ? "" : `    replace_triggered_by = [${TYPE}.${trigger}]\n`}${condition === undefined ? "" : `    postcondition {\n      condition = self.id != ${condition}\n      error_message = "no"\n    }\n`}  }\n`,
        ].join("");
        return `resource "${TYPE}" "${NAMES[at]}" {\n  input = ${input}\n${rest}}\n`;
      })
      .join(""),
  );
}

const files = fc
  .record({
    root: resources(rootReference, [...NAMES.map((name) => `${TYPE}.${name}`), "module.m"]),
    locals: fc.tuple(rootReference, rootReference, rootReference),
    given: fc.tuple(rootReference, rootReference),
    count: fc.constantFrom("2", "2", "length(local.a)"),
    callDepends: fc.option(fc.constantFrom(...NAMES), { nil: undefined, freq: 3 }),
    child: resources(
      childReference,
      NAMES.map((name) => `${TYPE}.${name}`),
    ),
    childLocals: fc.tuple(childReference, childReference),
    outputs: fc.tuple(childReference, childReference),
  })
  .map((c): Record<string, string> => {
    const depends =
      c.callDepends === undefined ? "" : `  depends_on = [${TYPE}.${c.callDepends}]\n`;
    return {
      "main.tf": `variable "v" { default = 1 }\nlocals {\n  a = ${c.locals[0]}\n  b = ${c.locals[1]}\n  c = ${c.locals[2]}\n}\n${c.root}module "m" {\n  source = "./child"\n  count  = ${c.count}\n  in     = ${c.given[0]}\n  more   = ${c.given[1]}\n${depends}}\n`,
      "child/main.tf": `variable "in" {}\nvariable "more" {}\nlocals {\n  a = ${c.childLocals[0]}\n  b = ${c.childLocals[1]}\n}\n${c.child}output "out" { value = ${c.outputs[0]} }\noutput "other" { value = ${c.outputs[1]} }\n`,
    };
  });

/** `a -> b` for all resources that wait for others, directly or through more of them. */
function closure(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...edges.keys()].flatMap((from) => {
    const reached = new Set(edges.get(from));
    for (const node of reached) for (const next of edges.get(node) ?? []) reached.add(next);
    return [...reached].map((to) => `${from} -> ${to}`);
  });
}

function commandEdges(command: string, folder: string): string[] | "cycle" {
  const env = { ...process.env, TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1" };
  const run = (...args: string[]): ReturnType<typeof spawnSync> =>
    spawnSync(command, args, { cwd: folder, encoding: "utf8", env });
  const init = run("init", "-input=false", "-no-color");
  if (init.status !== 0) throw new Error(String(init.stderr));
  const { status, stdout, stderr } = run("graph");
  if (/Cycle:|Self-referential/.test(String(stderr))) return "cycle";
  if (status !== 0) throw new Error(String(stderr));
  const edges = new Map<string, Set<string>>();
  for (const [, from = "", to = ""] of String(stdout).matchAll(/^\s*"([^"]+)" -> "([^"]+)";$/gm)) {
    edges.set(from, (edges.get(from) ?? new Set()).add(to));
  }
  return closure(edges);
}

/** The same of our graph: what is between resources left out. */
function ourEdges({ nodes, diagnostics }: ConfigGraph): string[] | "cycle" {
  // What refers to itself is refused by the command later, when it evaluates.
  if (diagnostics.some(({ summary }) => summary === "Dependency cycle")) return "cycle";
  const edges = new Map<string, Set<string>>();
  for (const node of nodes.values()) {
    if (node.kind === "resource") edges.set(node.id, new Set());
  }
  for (const node of nodes.values()) {
    if (node.kind !== "resource") continue;
    const reached = new Set(node.dependencies.keys());
    for (const next of reached) {
      if (next.kind === "resource") edges.get(node.id)?.add(next.id);
      else for (const more of next.dependencies.keys()) reached.add(more);
    }
  }
  return closure(edges);
}

describe("the graph, compared with the command", () => {
  it("has the same edges between resources", { timeout: 1_800_000 }, async (context) => {
    const terraform = requireTerraform(context);
    const numRuns = Math.max(10, Math.round(15 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
    await context.annotate(`${numRuns} configurations`, "count");
    await fc.assert(
      fc.asyncProperty(files, async (given) => {
        const folder = mkdtempSync(join(tmpdir(), "graph-"));
        try {
          for (const [name, text] of Object.entries(given)) {
            mkdirSync(dirname(join(folder, name)), { recursive: true });
            writeFileSync(join(folder, name), text);
          }
          const { root, diagnostics } = await loadModuleTree(memoryBundle(given));
          expect(hasErrors(diagnostics)).toBe(false);
          const ours = ourEdges(buildGraph(root, resolveProviders(root)));
          const expected = commandEdges(terraform, folder);
          const sorted = (edges: string[] | "cycle"): unknown =>
            edges === "cycle" ? edges : edges.toSorted();
          expect(sorted(ours)).toEqual(sorted(expected));
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns },
    );
  });
});
