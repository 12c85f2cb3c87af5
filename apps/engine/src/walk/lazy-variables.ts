import type { Value } from "@stackwright/cty";
import type { ModuleNode } from "@stackwright/lang";

/** A module whose variables are evaluated when they are asked for. */
interface WithVariables {
  readonly node: ModuleNode;
  variable(name: string): { readonly value: Value };
}

/** The variables of a module as a map that evaluates what is taken out of it. */
export class LazyVariables extends Map<string, Value> {
  readonly #module: WithVariables;

  constructor(module: WithVariables) {
    super();
    this.#module = module;
  }

  override has(name: string): boolean {
    return this.#module.node.config.variables.has(name);
  }

  override get(name: string): Value | undefined {
    return this.has(name) ? this.#module.variable(name).value : undefined;
  }

  override keys(): MapIterator<string> {
    return new Map(this.#module.node.config.variables).keys();
  }

  override get size(): number {
    return this.#module.node.config.variables.size;
  }
}
