import { Value } from "@stackwright/cty";
import type { FunctionTable } from "../eval/function-table.ts";
import type { EvaluationScope, Resolved } from "../eval/scope.ts";
import type { ScopeTraversal } from "../syntax/ast.ts";

/** A scope with the iterator of a `dynamic` block, which hides an outer name of the same spelling. */
export class IteratorScope implements EvaluationScope {
  readonly functions: FunctionTable;
  readonly #outer: EvaluationScope;
  readonly #name: string;
  readonly #value: Value;

  constructor(outer: EvaluationScope, name: string, key: Value, value: Value) {
    this.#outer = outer;
    this.#name = name;
    this.#value = Value.object({ key, value });
    this.functions = outer.functions;
  }

  variable(name: string): Value | undefined {
    return name === this.#name ? this.#value : this.#outer.variable(name);
  }

  *names(): Iterable<string> {
    yield this.#name;
    yield* this.#outer.names();
  }

  resolve(reference: ScopeTraversal): Resolved | undefined {
    if (reference.root === this.#name) return undefined;
    return this.#outer.resolve?.(reference);
  }

  element(collection: ScopeTraversal, key: Value): Value | undefined {
    if (collection.root === this.#name) return undefined;
    return this.#outer.element?.(collection, key);
  }

  definition(reference: ScopeTraversal): ReturnType<NonNullable<EvaluationScope["definition"]>> {
    if (reference.root === this.#name) return undefined;
    return this.#outer.definition?.(reference);
  }

  explainMissing(reference: ScopeTraversal): string | undefined {
    return this.#outer.explainMissing?.(reference);
  }
}
