import type { Value } from "@stackwright/cty";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import type { FunctionTable } from "./function-table.ts";

/** What a scope knows about the beginning of a reference. */
export interface Resolved {
  readonly value: Value;
  /** How many steps of the reference `value` stands for already. */
  readonly steps: number;
}

/** The names that expressions are evaluated with. */
export interface EvaluationScope {
  /** The value of a root name, or undefined where there is no such name. */
  variable(name: string): Value | undefined;
  /** All root names, for suggestions. */
  names(): Iterable<string>;
  readonly functions: FunctionTable;
  /**
   * Resolves as much of a reference as the scope can do better than by taking the value of the root
   * apart, such as one instance of a resource with many. Undefined where it cannot.
   */
  resolve?(reference: ScopeTraversal): Resolved | undefined;
  /**
   * The element with a computed key of what a reference stands for, such as `aws_vpc.a[each.key]`,
   * where the scope has it without building the whole. Undefined where it cannot.
   */
  element?(collection: ScopeTraversal, key: Value): Value | undefined;
  /** The expression that a name stands for, and its scope, to explain where a value comes from. */
  definition?(
    reference: ScopeTraversal,
  ): { readonly expression: Expression; readonly scope: EvaluationScope } | undefined;
  /** What to say about a root name that does not exist; by default that it does not. */
  explainMissing?(reference: ScopeTraversal): string | undefined;
}

/** A scope of fixed values. */
export function createScope(options: {
  readonly variables?: Readonly<Record<string, Value>> | ReadonlyMap<string, Value>;
  readonly functions: FunctionTable;
}): EvaluationScope {
  const { variables = {}, functions } = options;
  const values: ReadonlyMap<string, Value> =
    variables instanceof Map
      ? (variables as ReadonlyMap<string, Value>)
      : new Map(Object.entries(variables));
  return {
    functions,
    variable: (name) => values.get(name),
    names: () => values.keys(),
  };
}
