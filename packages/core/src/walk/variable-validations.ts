import type { Diagnostic, EvaluationScope, SourceRange, VariableConfig } from "@stackwright/lang";
import type { CheckResult } from "../state/check-result.ts";
import { evaluateConditions, INVALID_VARIABLE } from "./conditions.ts";
import type { EvaluationState } from "./evaluation-state.ts";
import type { Recorded } from "./recorder.ts";

/** The module whose variables are checked. */
interface CheckedModule {
  readonly world: EvaluationState;
  readonly node: { readonly config: { readonly variables: ReadonlyMap<string, VariableConfig> } };
  readonly scope: EvaluationScope;
  addressOf(name: string): string;
  placeOf(name: string): SourceRange | undefined;
}

interface Checked {
  readonly results: readonly CheckResult[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The conditions of the variables of one module instance. What uses a variable whose conditions are open depends on what
 * they need; what uses one whose conditions do not hold is blocked. Each is evaluated once.
 */
export class VariableValidations {
  readonly #module: CheckedModule;
  readonly #known = new Map<string, Recorded<Checked>>();
  /** Variables whose conditions are being evaluated: these see each other without their conditions. */
  readonly #running = new Set<string>();

  constructor(module: CheckedModule) {
    this.#module = module;
  }

  /** For an evaluation that uses a variable: adds what its conditions need, and that they do not hold. */
  guard(name: string): void {
    const { world } = this.#module;
    if (this.#running.has(name) || !this.#isGuarded(name)) return;
    const { result, targets, blocked } = this.#check(name);
    world.recorder.block(blocked);
    // A decided validation adds no dependencies.
    if (result.results.some(({ status }) => status === "unknown")) world.recorder.touchAll(targets);
  }

  results(name: string): readonly CheckResult[] {
    return this.#check(name).result.results;
  }

  #isGuarded(name: string): boolean {
    const { node, world } = this.#module;
    const { validations = [] } = node.config.variables.get(name) ?? {};
    return (
      validations.length > 0 && world.guards(`variable ${this.#module.addressOf(`var.${name}`)}`)
    );
  }

  #check(name: string): Recorded<Checked> {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const { world } = this.#module;
    const own = this.#module.addressOf(`var.${name}`);
    const evaluated = world.evaluateNamed(`variable ${own}`, () => this.#evaluate(name), true);
    // What it is made of is refused already: whether these conditions hold says nothing, and is not shown.
    const open = [...evaluated.blocked].some((address) => address !== own);
    const checked = open ? withoutResult(evaluated) : evaluated;
    if (evaluated.isWaiting) return checked;
    this.#known.set(name, checked);
    world.report(checked.result.diagnostics);
    return checked;
  }

  /** What does not hold is shown where the value is written. */
  #atValue(name: string, diagnostic: Diagnostic): Diagnostic {
    const { summary, subject, detail } = diagnostic;
    const place = this.#module.placeOf(name);
    if (summary !== INVALID_VARIABLE || subject === undefined || place === undefined)
      return diagnostic;
    const { filename, start } = subject.source.locate(subject.start, subject.end);
    const rule = `This was checked by the validation rule at ${filename}:${start.line},${start.column}.`;
    return { ...diagnostic, subject: place, context: place, detail: `${detail}\n\n${rule}` };
  }

  #evaluate(name: string): Checked {
    const { node, scope, world } = this.#module;
    const address = this.#module.addressOf(`var.${name}`);
    const diagnostics: Diagnostic[] = [];
    const results: CheckResult[] = [];
    this.#running.add(name);
    try {
      const good = evaluateConditions({
        address,
        kind: "variable",
        conditions: node.config.variables.get(name)?.validations ?? [],
        scope,
        report: (found) => diagnostics.push(...found.map((one) => this.#atValue(name, one))),
        keep: (result) => results.push(result),
      });
      if (!good) world.recorder.block([address]);
    } finally {
      this.#running.delete(name);
    }
    return { results, diagnostics };
  }
}

function withoutResult(checked: Recorded<Checked>): Recorded<Checked> {
  const { results } = checked.result;
  const open = results.map(({ address, kind, index }) => {
    return { address, kind, index, status: "unknown" as const };
  });
  return { ...checked, result: { results: open, diagnostics: [] } };
}
