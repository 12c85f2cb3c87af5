import { CtyError, Type, Value } from "@stackwright/cty";
import { FunctionError, type Parameter } from "../eval/function.ts";

type Allowances = Pick<Parameter, "allowNull" | "allowUnknown" | "allowDynamic" | "allowMarked">;

/** A parameter of any type. */
export function param(
  name: string,
  type: Type,
  description: string,
  allow: Allowances = {},
): Parameter {
  return { name, type, description, ...allow };
}

export function textParam(name: string, description: string, allow: Allowances = {}): Parameter {
  return param(name, Type.string, description, allow);
}

export function numberParam(name: string, description: string, allow: Allowances = {}): Parameter {
  return param(name, Type.number, description, allow);
}

export function anyParam(name: string, description: string, allow: Allowances = {}): Parameter {
  return param(name, Type.dynamic, description, allow);
}

/** The argument at a position. A missing one is a mistake of the caller of the function. */
export function argument(args: readonly Value[], position: number): Value {
  const value = args[position];
  if (value === undefined) throw new FunctionError("an argument is missing", position);
  return value;
}

/** The text of a known string argument. */
export function text(args: readonly Value[], position: number): string {
  return argument(args, position).asString();
}

/** A known number argument as a safe whole number; anything else is the argument's fault. */
export function wholeNumberParam(args: readonly Value[], position: number): number {
  return wholeNumber(argument(args, position), position);
}

/** A known number as a safe whole number; anything else is an error that blames the argument. */
export function wholeNumber(value: Value, position: number): number {
  try {
    return value.asInteger();
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    throw new FunctionError("a whole number of moderate size is required", position);
  }
}

/** A list of a known element type, also where it is empty. */
export function listOf(values: readonly Value[], element: Type): Value {
  return Value.list(values, element);
}

/** Fails with a message that blames an argument. */
export function invalidArgument(message: string, position?: number): never {
  throw new FunctionError(message, position);
}
