import { append } from "@stackwright/base/append";
import {
  CtyError,
  convert,
  Mark,
  Type,
  typeName,
  type Value,
  rangeOf as valueRange,
} from "@stackwright/cty";
import { evaluate } from "../eval/evaluate.ts";
import { traitText, type ValueTrait } from "../eval/explain.ts";
import { createFunctionTable } from "../eval/function-table.ts";
import { iterate } from "../eval/iterate.ts";
import { observed } from "../eval/observe.ts";
import { createScope, type EvaluationScope } from "../eval/scope.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import type { Repetition } from "./module-config.ts";
import { rangeOf } from "./static-reader.ts";

/** Which instances something has. */
export type Expansion =
  /** One, without a key. */
  | { readonly kind: "single" }
  /** None, of what would have one without a key. */
  | { readonly kind: "none" }
  /** As many as a number, with the keys 0, 1, 2, ... */
  | { readonly kind: "count"; readonly count: number }
  /** One for each entry, in the order of their keys, with the value of `each.value`. */
  | { readonly kind: "for_each"; readonly entries: ReadonlyMap<string, Value> }
  /** Not known yet; with the reason as a diagnostic, for callers that cannot wait. */
  | { readonly kind: "unknown"; readonly reason: Diagnostic }
  /** Not possible; the diagnostics say why. */
  | { readonly kind: "invalid" };

/** Most instances of one thing. */
const MAX_INSTANCES = 100_000;

/** Works out the instances of a resource or module call from its count, for_each or enabled. */
export function expandRepetition(
  { count, forEach, enabled }: Pick<Repetition, "count" | "forEach" | "enabled">,
  scope: EvaluationScope,
  diagnostics: Diagnostic[],
): Expansion {
  if (forEach !== undefined) return new Expander(forEach, scope, diagnostics).forEach();
  if (count !== undefined) return new Expander(count, scope, diagnostics).count();
  if (enabled !== undefined) return new Expander(enabled, scope, diagnostics).enabled();
  return { kind: "single" };
}

/** The instances by a value of for_each that is evaluated already. */
export function expandKeys(
  forEach: Expression,
  value: Value,
  diagnostics: Diagnostic[],
): Expansion {
  return new Expander(forEach, NO_NAMES, diagnostics).keys(value);
}

const NO_NAMES = createScope({ functions: createFunctionTable([], { maxStringLength: 0 }) });

class Expander {
  readonly #expression: Expression;
  readonly #scope: EvaluationScope;
  readonly #diagnostics: Diagnostic[];

  constructor(expression: Expression, scope: EvaluationScope, diagnostics: Diagnostic[]) {
    this.#expression = expression;
    this.#scope = scope;
    this.#diagnostics = diagnostics;
  }

  #problem(summary: string, detail: string): Diagnostic {
    const subject = rangeOf(this.#expression);
    const values = observed(this.#expression, this.#scope);
    return { severity: "error", code: "LANG_CONFIG", summary, detail, subject, ...values };
  }

  #because(trait: ValueTrait): string {
    return traitText(this.#expression, this.#scope, trait);
  }

  #invalid(summary: string, detail: string): Expansion {
    this.#diagnostics.push(this.#problem(summary, detail));
    return { kind: "invalid" };
  }

  /** The value, or undefined where it cannot be evaluated; that has been reported. */
  #value(): Value | undefined {
    const { value, diagnostics } = evaluate(this.#expression, this.#scope);
    append(this.#diagnostics, diagnostics);
    return hasErrors(diagnostics) ? undefined : value;
  }

  count(): Expansion {
    const summary = "Invalid count argument";
    const given = this.#value();
    if (given === undefined) return { kind: "invalid" };
    if (given.hasMark(Mark.ephemeral)) {
      return this.#invalid(
        summary,
        `An ephemeral value cannot say how many instances there are: the number must be kept.${this.#because("ephemeral")}`,
      );
    }
    const [plain] = given.unmark();
    if (plain.isNull) return this.#invalid(summary, "The count must not be null.");
    if (!plain.isKnown) {
      const detail = `How many instances there are depends on values that are known only after apply.${this.#because("unknown")}`;
      return { kind: "unknown", reason: this.#problem(summary, detail) };
    }
    try {
      const number = convert(plain, Type.number).asBigFloat();
      const least = number.isInteger && number.sign >= 0;
      if (!least)
        return this.#invalid(summary, "The count must be a whole number that is not negative.");
      const count = number.toNumber();
      if (count <= MAX_INSTANCES) return { kind: "count", count };
      return this.#invalid(summary, `There can be at most ${MAX_INSTANCES} instances.`);
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      return this.#invalid(summary, `The count must be a number: ${error.message}.`);
    }
  }

  enabled(): Expansion {
    const summary = "Invalid enabled argument";
    const given = this.#value();
    if (given === undefined) return { kind: "invalid" };
    for (const mark of [Mark.sensitive, Mark.ephemeral]) {
      if (!given.hasMark(mark)) continue;
      const trait = mark === Mark.sensitive ? "sensitive" : "ephemeral";
      const detail = `Whether an object exists is shown, so that ${trait} values cannot be used for enabled.${this.#because(trait)}`;
      return this.#invalid(summary, detail);
    }
    const [plain] = given.unmark();
    if (plain.isNull) return this.#invalid(summary, "The argument enabled must not be null.");
    if (!plain.isKnown) {
      const detail = `Whether the object exists depends on values that are known only after apply.${this.#because("unknown")}`;
      return { kind: "unknown", reason: this.#problem(summary, detail) };
    }
    try {
      return { kind: convert(plain, Type.bool).asBoolean() ? "single" : "none" };
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      return this.#invalid(
        summary,
        `The argument enabled must be true or false: ${error.message}.`,
      );
    }
  }

  forEach(): Expansion {
    const given = this.#value();
    return given === undefined ? { kind: "invalid" } : this.keys(given);
  }

  keys(given: Value): Expansion {
    const summary = "Invalid for_each argument";
    for (const mark of [Mark.sensitive, Mark.ephemeral]) {
      if (given.hasMark(mark)) {
        return this.#invalid(
          summary,
          `The keys of instances are shown and kept everywhere, so that ${mark.kind} values cannot be used for for_each.${this.#because(mark === Mark.sensitive ? "sensitive" : "ephemeral")}`,
        );
      }
    }
    const [value] = given.unmark();
    const { type } = value;
    if (value.isNull) return this.#invalid(summary, "for_each must not be null.");
    if (type.kind === "set") return this.#set(value);
    if (type.kind !== "map" && type.kind !== "object" && type.kind !== "dynamic") {
      const hint =
        type.kind === "list" || type.kind === "tuple"
          ? " Lists have no keys that stay when elements come and go; toset makes a set of one."
          : "";
      return this.#invalid(
        summary,
        `for_each must be a map or a set of strings, not ${typeName(type)}.${hint}`,
      );
    }
    if (!value.isKnown)
      return this.#unknown(
        "The keys of the map are known only after apply. Use keys that are written in the configuration, and put what is not known into the values.",
      );
    if (value.size > MAX_INSTANCES)
      return this.#invalid(summary, `There can be at most ${MAX_INSTANCES} instances.`);
    return { kind: "for_each", entries: new Map(value.entries()) };
  }

  #unknown(detail: string): Expansion {
    const reason = this.#problem("Invalid for_each argument", detail + this.#because("unknown"));
    return { kind: "unknown", reason };
  }

  #set(value: Value): Expansion {
    const summary = "Invalid for_each set argument";
    const { type } = value;
    if (!value.isKnown && type.kind === "set" && type.element.kind === "string") {
      if (valueRange(value).maxLength === 0) return { kind: "for_each", entries: new Map() };
    }
    const empty = value.isKnown && value.size === 0;
    if (type.kind === "set" && type.element.kind !== "string" && !empty) {
      if (type.element.kind === "dynamic" && !value.isKnown)
        return this.#unknown("The elements of the set are known only after apply.");
      return this.#invalid(
        summary,
        `A set for for_each must be a set of strings, not ${typeName(type)}.`,
      );
    }
    if (!value.isWhollyKnown) {
      return this.#unknown(
        "The elements of the set, which are the keys of the instances, are known only after apply.",
      );
    }
    const entries = new Map<string, Value>();
    for (const [, element] of iterate(value)) {
      if (element.isNull) return this.#invalid(summary, "A set for for_each must not hold null.");
      entries.set(element.asString(), element);
    }
    if (entries.size > MAX_INSTANCES)
      return this.#invalid(summary, `There can be at most ${MAX_INSTANCES} instances.`);
    return { kind: "for_each", entries };
  }
}
