import { Type, type Value } from "@stackwright/cty";
import {
  type BundleFiles,
  bodyReferences,
  type ContentAttribute,
  type Diagnostic,
  type EvaluationScope,
  type Expression,
  evaluate,
  expressionReferences,
  hasErrors,
  resolveVariables,
  SourceFile,
  sourceRange,
  type TestFile,
  type TestRun,
  type VariableConfig,
  type VariableValueOrigin,
} from "@stackwright/lang";
import { fileScope, type RunOutputs } from "./test-scope.ts";

/** Where the values of a suite's variables come from. */
export interface TestValues {
  /** The variables of the root module. */
  readonly declared: ReadonlyMap<string, VariableConfig>;
  /** Values from outside of test files; later ones win. */
  readonly sources: readonly VariableValueOrigin[];
  readonly files: BundleFiles;
}

/** The values that the expressions of a file see as `var`. */
export function fileVariables(
  values: TestValues,
  file: TestFile,
  runs: RunOutputs,
  diagnostics: Diagnostic[],
): ReadonlyMap<string, Value> {
  const { declared, sources, files } = values;
  const all = new Map(declared);
  for (const name of variablesIn(file)) {
    if (!all.has(name)) all.set(name, undeclared(name, file));
  }
  const outer = resolve(all, sources);
  // One without a value is not known to anything: what is set in the same file has no order.
  const known = [...outer.values].filter(([name]) => !outer.missing.includes(name));
  const scope = fileScope(new Map(known), runs, files);
  const own = evaluateAll(file.variables, scope, diagnostics);
  const named = [...own].map(([name, value]) => ({ kind: "value", name, value }) as const);
  const { values: found, missing } = resolve(all, [...sources, ...named]);
  return new Map([...found].filter(([name]) => !missing.includes(name)));
}

/** The values of the variables of the module that a run is about. */
export function runVariables(
  values: TestValues,
  file: TestFile,
  run: TestRun,
  module: ReadonlyMap<string, VariableConfig>,
  scope: EvaluationScope,
  runs: RunOutputs,
): {
  readonly values: ReadonlyMap<string, Value>;
  /** All values of the run, those that the module does not declare among them. */
  readonly given: ReadonlyMap<string, Value>;
  readonly diagnostics: readonly Diagnostic[];
} {
  const diagnostics: Diagnostic[] = [];
  const outer = fileVariables(values, file, runs, []);
  const own = evaluateAll(run.variables, scope, diagnostics);
  for (const [name, { nameRange }] of run.variables) {
    if (module.has(name)) continue;
    diagnostics.push({
      severity: "warning",
      code: "ENGINE_TEST",
      summary: "Value for undeclared variable",
      detail: `The module under test does not declare the variable "${name}", but the run "${run.name}" sets it.`,
      subject: nameRange,
    });
  }
  if (hasErrors(diagnostics)) return { values: new Map(), given: new Map(), diagnostics };
  const fromFile = [...file.variables.keys()].flatMap((name) => {
    const value = outer.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const given = [...fromFile, ...own]
    .filter(([name]) => module.has(name))
    .map(([name, value]) => ({ kind: "value", name, value }) as const);
  const resolved = resolve(module, [...values.sources, ...given]);
  diagnostics.push(...resolved.diagnostics);
  return { values: resolved.values, given: new Map([...outer, ...own]), diagnostics };
}

/** Names that the module does not have are for other runs. */
function resolve(
  variables: ReadonlyMap<string, VariableConfig>,
  sources: readonly VariableValueOrigin[],
): ReturnType<typeof resolveVariables> {
  const known = sources.filter(
    (source) =>
      (source.kind !== "argument" && source.kind !== "value") || variables.has(source.name),
  );
  const result = resolveVariables(variables, known);
  const diagnostics = result.diagnostics.filter(
    ({ summary }) => summary !== "Value for undeclared variable",
  );
  return { ...result, diagnostics };
}

function evaluateAll(
  attributes: ReadonlyMap<string, ContentAttribute>,
  scope: EvaluationScope,
  diagnostics: Diagnostic[],
): Map<string, Value> {
  const values = new Map<string, Value>();
  for (const [name, { expression }] of attributes) {
    const result = evaluate(expression, scope);
    const found = [...result.diagnostics, ...unknownOutputs(expression, scope)];
    diagnostics.push(...found);
    if (!hasErrors(found)) values.set(name, result.value);
  }
  return values;
}

/** Outputs of earlier runs that are not known, as those runs only planned: an apply cannot be given such values. */
function unknownOutputs(expression: Expression, scope: EvaluationScope): Diagnostic[] {
  return expressionReferences(expression).flatMap((reference): Diagnostic[] => {
    const [run, output] = reference.steps;
    if (reference.root !== "run" || run?.kind !== "attribute-step") return [];
    const { value, diagnostics } = evaluate(reference, scope);
    if (hasErrors(diagnostics) || value.isWhollyKnown) return [];
    const name = output?.kind === "attribute-step" ? `${run.name}.${output.name}` : run.name;
    return [
      {
        severity: "error",
        code: "ENGINE_TEST",
        summary: "Reference to unknown value",
        detail: `The value of run.${name} is not known: the run "${run.name}" only plans, and the value is known after an apply. Set command = apply in that run.`,
        subject: sourceRange(reference.source, reference.start, reference.end),
      },
    ];
  });
}

/** All variables that a file sets or refers to. */
function variablesIn(file: TestFile): Set<string> {
  const names = new Set(file.variables.keys());
  const expressions = file.runs.flatMap(({ variables, assertions }) => [
    ...[...variables.values()].map(({ expression }) => expression),
    ...assertions.flatMap(({ condition, errorMessage }) => [condition, errorMessage]),
  ]);
  const inProviders = [...file.providers.values()].flatMap(({ config }) =>
    bodyReferences(config.body, new Set(["alias", "version"])),
  );
  const ofFile = [...file.variables.values()].map(({ expression }) => expression);
  const references = [...expressions, ...ofFile].flatMap((one) => expressionReferences(one));
  for (const { root, steps } of [...references, ...inProviders]) {
    if (root === "var" && steps[0]?.kind === "attribute-step") names.add(steps[0].name);
  }
  return names;
}

function undeclared(name: string, file: TestFile): VariableConfig {
  return {
    name,
    constraint: { type: Type.dynamic, defaults: undefined },
    default: undefined,
    description: undefined,
    sensitive: false,
    ephemeral: false,
    nullable: true,
    textIsLiteral: true,
    deprecated: undefined,
    validations: [],
    range: sourceRange(new SourceFile(file.name, ""), 0, 0),
  };
}
