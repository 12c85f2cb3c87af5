import type { Value } from "@stackwright/cty";
import type { ModuleNode } from "@stackwright/lang";

/** The variables of a module as a map that evaluates what is taken out of it. */
export class LazyVariables extends Map<string, Value> {
  readonly #declared: ModuleNode["config"]["variables"];
  readonly #valueOf: (name: string) => Value;

  constructor({ config }: ModuleNode, valueOf: (name: string) => Value) {
    super();
    this.#declared = config.variables;
    this.#valueOf = valueOf;
  }

  override has(name: string): boolean {
    return this.#declared.has(name);
  }

  override get(name: string): Value | undefined {
    return this.has(name) ? this.#valueOf(name) : undefined;
  }

  override keys(): MapIterator<string> {
    return new Map(this.#declared).keys();
  }

  override get size(): number {
    return this.#declared.size;
  }
}
