import { Value } from "@stackwright/cty";
import {
  type BundleFiles,
  createFunctionTable,
  type EvaluationScope,
  type ScopeTraversal,
  STANDARD_FUNCTIONS,
} from "@stackwright/lang";
import type { EvaluationState } from "../walk/evaluation-state.ts";

/** Outputs of the runs so far, as objects by the name of the run. */
export type RunOutputs = ReadonlyMap<string, Value>;

/** What expressions of a test file see outside of assertions: `var`, `run`, functions. */
export function fileScope(
  variables: ReadonlyMap<string, Value>,
  runs: RunOutputs,
  files: BundleFiles,
): EvaluationScope {
  return {
    functions: createFunctionTable(STANDARD_FUNCTIONS, { maxStringLength: MAX_TEXT, files }),
    variable: () => undefined,
    names: () => ["var", "run"],
    resolve: (traversal) => {
      const name = nameIn(traversal);
      const values = { var: variables, run: runs }[traversal.root];
      const value = name === undefined ? undefined : values?.get(name);
      return value && { value, steps: 1 };
    },
    explainMissing: (traversal) => explain(traversal, "here"),
  };
}

const MAX_TEXT = 32 * 1024 * 1024;

/** What assertions see: everything of the module under test, its outputs, and those of the runs so far. */
export function assertionScope(
  { root }: EvaluationState,
  variables: ReadonlyMap<string, Value>,
  runs: RunOutputs,
): EvaluationScope {
  const { scope } = root;
  const { outputs, variables: declared } = root.node.config;
  return {
    functions: scope.functions,
    variable: (name) => scope.variable(name),
    names: () => new Set([...scope.names(), "output", "run"]),
    resolve: (traversal) => {
      const name = nameIn(traversal);
      if (name === undefined) return scope.resolve?.(traversal);
      if (traversal.root === "run") return stepOf(runs.get(name));
      if (traversal.root === "output") {
        return outputs.has(name) ? stepOf(root.output(name).value) : undefined;
      }
      if (traversal.root === "var" && !declared.has(name)) return stepOf(variables.get(name));
      return scope.resolve?.(traversal);
    },
    element: (collection, key) => scope.element?.(collection, key),
    definition: (traversal) => scope.definition?.(traversal),
    explainMissing: (traversal) =>
      traversal.root === "run" || traversal.root === "output"
        ? explain(traversal, "in the module under test")
        : scope.explainMissing?.(traversal),
  };
}

function stepOf(value: Value | undefined): { value: Value; steps: number } | undefined {
  return value && { value, steps: 1 };
}

/** The name behind the root, such as `x` of `var.x`. */
function nameIn({ steps: [step] }: ScopeTraversal): string | undefined {
  return step?.kind === "attribute-step" ? step.name : undefined;
}

function explain(traversal: ScopeTraversal, where: string): string {
  const name = nameIn(traversal);
  const { root } = traversal;
  if (name === undefined) return `"${root}" must be followed by a dot and a name.`;
  if (root === "run") return `There is no earlier run "${name}" in this file that has ended well.`;
  if (root === "output") return `There is no output "${name}" ${where}.`;
  if (root === "var") return `There is no value for the variable "${name}" ${where}.`;
  return `Only "var" and "run" can be referred to here, and "${root}" is neither.`;
}

/** The outputs of the module under test, as far as they could be evaluated. */
export async function outputsOf(world: EvaluationState): Promise<Value> {
  const members: [string, Value][] = [];
  for (const name of world.root.node.config.outputs.keys()) {
    try {
      members.push([name, await world.settled(() => world.root.output(name).value)]);
    } catch {
      members.push([name, Value.dynamic]);
    }
  }
  return Value.object(members);
}
