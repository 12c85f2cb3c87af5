import {
  CtyError,
  deepMarks,
  Marks,
  refineNotNull,
  type Type,
  unmarkDeep,
  Value,
} from "@stackwright/cty";
import {
  FunctionError,
  type FunctionWarning,
  type Parameter,
  type ValueFunction,
} from "./function.ts";
import type { FunctionHost } from "./host.ts";

/**
 * Calls a function with values that have been converted to the types of its parameters. Null,
 * unknown, open-typed and marked arguments are treated as its parameters declare, so that an
 * implementation only meets what it asked for. All marks that were taken off go to the result.
 *
 * Throws {@link FunctionError} and CtyError for arguments the function cannot work with.
 */
export function callFunction(
  definition: ValueFunction,
  given: readonly Value[],
  host: FunctionHost,
  warn: FunctionWarning,
): Value {
  const { parameters, rest, returns } = definition;
  let marks = Marks.none;
  /** Marks that the function itself would see to, if it were called. */
  let kept = Marks.none;
  let open = false;
  let unknown = false;
  const args = given.map((value, position) => {
    const parameter = parameters[position] ?? rest;
    if (parameter === undefined) throw new FunctionError("too many arguments", position);
    checkNull(parameter, value, position);
    open ||= value.type.kind === "dynamic" && parameter.allowDynamic !== true && !value.isNull;
    unknown ||= !value.isKnown && parameter.allowUnknown !== true;
    if (parameter.allowMarked === true) {
      kept = kept.union(deepMarks(value));
      return value;
    }
    const [plain, taken] = unmarkDeep(value);
    marks = marks.union(taken);
    return plain;
  });
  if (open) return Value.dynamic.withMarks(marks.union(kept));
  const type = typeof returns === "function" ? returns(args) : returns;
  if (unknown) {
    return unknownResult(definition, type, args).withMarks(marks.union(kept));
  }
  const result = definition.call(args, type, host, warn);
  if (result.isKnown) return result.withMarks(marks);
  const [plain, own] = result.unmark();
  return refineUnknown(definition, plain, args).withMarks(marks.union(own));
}

function checkNull(parameter: Parameter, value: Value, position: number): void {
  if (!value.isNull || parameter.allowNull === true) return;
  throw new FunctionError("argument must not be null", position);
}

function unknownResult(definition: ValueFunction, type: Type, args: readonly Value[]): Value {
  if (type.kind === "dynamic") return Value.dynamic;
  return refineUnknown(definition, Value.unknown(type), args);
}

function refineUnknown(definition: ValueFunction, unknown: Value, args: readonly Value[]): Value {
  if (unknown.type.kind === "dynamic") return unknown;
  const notNull = definition.nullable === true ? unknown : refineNotNull(unknown);
  return definition.refine?.(notNull, args) ?? notNull;
}

/** What an error of a function says and which argument it blames; other errors are thrown on. */
export function functionFailure(error: unknown): { message: string; argument: number | undefined } {
  if (error instanceof FunctionError) return error;
  if (error instanceof CtyError) return { message: error.message, argument: undefined };
  throw error;
}
