import { CtyError, convert, deepMarks, Mark, refineNotNull, Value } from "@stackwright/cty";
import { evaluate } from "../eval/evaluate.ts";
import { traitText } from "../eval/explain.ts";
import { observed } from "../eval/observe.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { applyTypeDefaults } from "../type/type-defaults.ts";
import { checkCondition } from "./condition.ts";
import type { VariableConfig } from "./module-config.ts";
import { rangeOf } from "./static-reader.ts";

type Contract = Pick<VariableConfig, "constraint" | "nullable">;

/** A given value as the type of the variable wants it. Throws the CtyError of the conversion. */
export function completeInput({ constraint, nullable }: Contract, given: Value): Value {
  const value = convert(applyTypeDefaults(given, constraint.defaults), constraint.type);
  // Null would be replaced by the default or refused, so that it is not null either way.
  const settled = nullable || value.isKnown || value.type.kind === "dynamic";
  return settled ? value : refineNotNull(value);
}

/** The value with the marks that the variable declares. */
export function markInput(
  { sensitive, ephemeral }: Pick<VariableConfig, "sensitive" | "ephemeral">,
  value: Value,
): Value {
  return value.mark(...(sensitive ? [Mark.sensitive] : []), ...(ephemeral ? [Mark.ephemeral] : []));
}

/** A value and what is wrong with it. */
interface Valued {
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The value of a variable of a called module: its argument, evaluated in the scope of the caller,
 * or its default. Null is the default where the variable is not nullable. Ephemeral values are
 * refused by variables that are not declared to take them. A required variable that is not given is
 * reported by `loadModuleTree` and unknown here.
 */
export function evaluateInput(
  variable: VariableConfig,
  argument: Expression | undefined,
  caller: EvaluationScope,
): Valued {
  const { constraint, name, default: fallback = Value.unknown(constraint.type) } = variable;
  if (argument === undefined) return { value: markInput(variable, fallback), diagnostics: [] };
  const { value: given, diagnostics: found } = evaluate(argument, caller);
  const diagnostics = [...found];
  const unknown = markInput(variable, Value.unknown(constraint.type));
  if (hasErrors(found)) return { value: unknown, diagnostics };
  const fail = (summary: string, detail: string): Valued => ({
    value: unknown,
    diagnostics: [
      ...diagnostics,
      {
        severity: "error",
        code: "LANG_CONFIG",
        summary,
        detail,
        subject: rangeOf(argument),
        ...observed(argument, caller),
      },
    ],
  });
  if (!variable.ephemeral && given.containsMarks && deepMarks(given).has(Mark.ephemeral)) {
    const detail = `The variable "${name}" is not declared to take ephemeral values.${traitText(argument, caller, "ephemeral")}`;
    return fail("Ephemeral value not allowed", detail);
  }
  if (given.isNull && !variable.nullable) {
    if (variable.default === undefined) {
      const detail = `The variable "${name}" must not be null, and it has no default.`;
      return fail("Required variable not set", detail);
    }
    return { value: markInput(variable, fallback), diagnostics };
  }
  try {
    return { value: markInput(variable, completeInput(variable, given)), diagnostics };
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    const detail = `The value does not fit the type of the variable "${name}": ${error.message}.`;
    return fail("Invalid value for input variable", detail);
  }
}

/**
 * What the conditions of a variable say about its value. `scope` is that of the module it belongs
 * to; conditions that cannot be decided yet say nothing.
 */
export function checkValidations(
  { validations }: VariableConfig,
  scope: EvaluationScope,
): Diagnostic[] {
  return validations.flatMap((condition) => [
    ...checkCondition(condition, scope, "Invalid value for variable").diagnostics,
  ]);
}
