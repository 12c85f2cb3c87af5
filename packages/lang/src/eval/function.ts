import { CtyError, Type, Value } from "@stackwright/cty";
import type { FunctionCall } from "../syntax/ast.ts";
import type { FunctionCallFrame } from "../syntax/diagnostic.ts";
import type { EvaluationContext } from "./context.ts";
import type { FunctionHost } from "./host.ts";

/** Groups of functions, as documentation lists them. */
export type FunctionCategory =
  | "numeric"
  | "string"
  | "collection"
  | "encoding"
  | "filesystem"
  | "date"
  | "hash"
  | "network"
  | "type"
  | "provider";

/**
 * One parameter. What is not allowed is dealt with before the function is called: null is an error,
 * an unknown argument makes the result unknown, marks are taken off and put on the result.
 */
export interface Parameter {
  readonly name: string;
  /** What the argument is converted to; `Type.dynamic` takes everything as it is. */
  readonly type: Type;
  readonly description: string;
  readonly allowNull?: boolean;
  /** The function deals with an unknown argument. Unknown parts of a known one it always meets. */
  readonly allowUnknown?: boolean;
  /** The function deals with an argument whose type is not known yet. */
  readonly allowDynamic?: boolean;
  /** The function sees the marks, and the marks of the result are its business. */
  readonly allowMarked?: boolean;
}

interface FunctionBase {
  readonly name: string;
  readonly category: FunctionCategory;
  /** One sentence for documentation: what it gives for what. */
  readonly description: string;
  readonly parameters: readonly Parameter[];
  /** What any number of further arguments must be. */
  readonly rest?: Parameter;
  /** Deprecation message, for functions that should no longer be called. */
  readonly deprecated?: string;
  /** Where the function exists. @default "both" */
  readonly dialect?: "both" | "opentofu" | "stackwright";
}

/** Says what a user should know of the result of a function: one or more sentences. */
export type FunctionWarning = (detail: string) => void;

/** A function that gets the values of its arguments. */
export interface ValueFunction extends FunctionBase {
  /**
   * Type of the result. As a function it is asked with arguments that may be unknown or null where a
   * parameter allows it; it throws {@link FunctionError} for arguments that can never work.
   */
  readonly returns: Type | ((args: readonly Value[]) => Type);
  /** The result is never null; an unknown one is refined accordingly. @default true */
  readonly nullable?: boolean;
  /** Narrows an unknown result further. `args` are unmarked. */
  readonly refine?: (unknown: Value, args: readonly Value[]) => Value;
  /** `warn` says something of this call at its place in the configuration. */
  readonly call: (
    args: readonly Value[],
    returns: Type,
    host: FunctionHost,
    warn: FunctionWarning,
  ) => Value;
}

/** A function that gets its arguments as expressions and decides itself what to do with them. */
export interface ExpressionFunction extends FunctionBase {
  readonly evaluate: (call: FunctionCall, context: EvaluationContext) => Value;
}

export type LangFunction = ValueFunction | ExpressionFunction;

/** What a function throws for arguments it cannot work with. */
export class FunctionError extends Error {
  /** Index of the argument to blame. */
  readonly argument: number | undefined;

  constructor(message: string, argument?: number) {
    super(message);
    this.name = "FunctionError";
    this.argument = argument;
  }
}

/** `name(a, b...)` for documentation and messages. */
export function functionSignature({ name, parameters, rest }: LangFunction): string {
  const names = parameters.map((parameter) => parameter.name);
  if (rest !== undefined) names.push(`${rest.name}...`);
  return `${name}(${names.join(", ")})`;
}

/** What problems of a call say of its function. */
export function functionCallFrame(definition: LangFunction, calledAs: string): FunctionCallFrame {
  const { name, parameters, rest } = definition;
  return {
    name,
    calledAs,
    signature: functionSignature(definition),
    parameters: parameters.map(calledParameter),
    ...(rest !== undefined && { rest: calledParameter(rest) }),
    returns: staticReturnType(definition),
  };
}

function calledParameter({ name, type }: Parameter): FunctionCallFrame["parameters"][number] {
  return { name, type };
}

/** The type of the result for arguments of which only the types are known; dynamic where that is not enough. */
function staticReturnType(definition: LangFunction): Type {
  if (!("returns" in definition)) return Type.dynamic;
  const { parameters, rest, returns } = definition;
  if (typeof returns !== "function") return returns;
  const all = rest === undefined ? parameters : [...parameters, rest];
  try {
    return returns(all.map(({ type }) => Value.unknown(type)));
  } catch (error) {
    if (error instanceof FunctionError || error instanceof CtyError) return Type.dynamic;
    throw error;
  }
}
