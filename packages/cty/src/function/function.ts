import { convert } from "../convert/convert.ts";
import { CtyError } from "../errors.ts";
import { unmarkDeep } from "../operation/operands.ts";
import { conformsTo } from "../type/conformance.ts";
import { typeName } from "../type/names.ts";
import { Type } from "../type/type.ts";
import { Marks } from "../value/marks.ts";
import { type Refinements, refine } from "../value/refine.ts";
import { Value } from "../value/value.ts";

/** What a function takes in one place, and which special values its implementation wants to see. */
export interface CtyParameter {
  readonly name: string;
  readonly description?: string;
  /** What arguments must conform to; `dynamic` stands for any type. */
  readonly type: Type;
  /** Nulls reach the implementation. Otherwise a null is an error. @default false */
  readonly allowNull?: boolean;
  /** Unknowns reach the implementation. Otherwise the result of an unknown is unknown. @default false */
  readonly allowUnknown?: boolean;
  /**
   * Values of unknown type reach `returns`, and with `allowUnknown` the implementation. Otherwise the result is of
   * unknown type as well. @default false
   */
  readonly allowDynamicType?: boolean;
  /**
   * Marked values reach the implementation, which then has to pass the marks on by itself. Otherwise it gets arguments
   * without marks, and the marks of all arguments, also those of parts, go to the result. @default false
   */
  readonly allowMarked?: boolean;
}

/** The declaration of a function. */
export interface FunctionSpec {
  readonly description?: string;
  readonly parameters: readonly CtyParameter[];
  /** What further arguments, any number of them, have to be like. @default none allowed */
  readonly variadic?: CtyParameter;
  /**
   * The type of the result, or how it follows from the arguments, which may be unknown here regardless of the
   * parameters. It may throw `CTY_ARGUMENT`.
   */
  readonly returns: Type | ((args: readonly Value[]) => Type);
  /** What holds for every result, known or not. */
  readonly refineResult?: Refinements;
  /** Computes the result, which must conform to `type`, from arguments that the parameters allow. Must be pure. */
  readonly implement: (args: readonly Value[], type: Type) => Value;
}

/** A checked argument list: what the implementation gets, and what is decided without it. */
interface Checked {
  readonly args: readonly Value[];
  readonly marks: Marks;
  readonly hasUnknown: boolean;
  /** An argument of unknown type was given where the parameter does not take one. */
  readonly open: boolean;
}

/**
 * A function on values. Its declaration says what it does about null, unknown, open and marked arguments, and the frame
 * does it, so that implementations only deal with what they asked for.
 */
export class CtyFunction {
  readonly spec: FunctionSpec;

  constructor(spec: FunctionSpec) {
    this.spec = spec;
  }

  /** The parameter that takes the argument at a position, or undefined where there is none. */
  parameterAt(position: number): CtyParameter | undefined {
    return this.spec.parameters[position] ?? this.spec.variadic;
  }

  /**
   * The arguments converted to the types of their parameters, which is what a language does before a call. Throws
   * `CTY_ARGUMENT` with the position of what cannot be converted, `CTY_ARGUMENT_COUNT`.
   */
  convertArguments(args: readonly Value[]): Value[] {
    this.#checkCount(args.length);
    return args.map((arg, i) => {
      const parameter = this.parameterAt(i);
      if (parameter === undefined) return arg;
      try {
        return convert(arg, parameter.type);
      } catch (error) {
        if (!(error instanceof CtyError)) throw error;
        throw argumentError(i, error.message, error);
      }
    });
  }

  /**
   * The type of the result for these arguments; `dynamic` where it depends on something that is not known. For arguments
   * of which only the types are known, pass unknowns. Throws `CTY_ARGUMENT`, `CTY_ARGUMENT_COUNT`, `CTY_FUNCTION`.
   */
  returnType(args: readonly Value[]): Type {
    const checked = this.#check(args);
    return checked.open ? Type.dynamic : this.#typeOf(checked.args);
  }

  /**
   * Calls the function with arguments that conform to the parameters. Throws `CTY_ARGUMENT` with the position of an
   * argument that is not acceptable, `CTY_ARGUMENT_COUNT`, what the implementation throws if it is a `CtyError`, and
   * `CTY_FUNCTION` for anything else it throws and for a result that contradicts the declaration.
   */
  call(args: readonly Value[]): Value {
    const { args: plain, marks, hasUnknown, open } = this.#check(args);
    // The declared refinements hold for the type that the function would have, which is not known here.
    if (open) return Value.dynamic.withMarks(marks);
    const type = this.#typeOf(plain);
    if (hasUnknown) return this.#refined(Value.unknown(type)).withMarks(marks);
    const result = guarded(() => this.spec.implement(plain, type));
    if (!conformsTo(result.type, type)) {
      throw broken(`the result is ${typeName(result.type)} and not ${typeName(type)} as declared`);
    }
    return this.#refined(result).withMarks(marks);
  }

  #refined(result: Value): Value {
    const { refineResult } = this.spec;
    if (refineResult === undefined) return result;
    try {
      return refine(result, refineResult);
    } catch (error) {
      throw broken("the result contradicts its declared refinements", error);
    }
  }

  #typeOf(args: readonly Value[]): Type {
    const { returns } = this.spec;
    return typeof returns === "function" ? guarded(() => returns(args)) : returns;
  }

  #checkCount(given: number): void {
    const { parameters, variadic } = this.spec;
    const needed = parameters.length;
    if (given < needed || (given > needed && variadic === undefined)) {
      const wanted = variadic === undefined ? `${needed}` : `at least ${needed}`;
      throw new CtyError("CTY_ARGUMENT_COUNT", `expected ${wanted} arguments, got ${given}`);
    }
  }

  #check(args: readonly Value[]): Checked {
    this.#checkCount(args.length);
    let marks = Marks.none;
    let hasUnknown = false;
    let open = false;
    const plain = args.map((arg, i) => {
      const parameter = this.parameterAt(i);
      if (parameter === undefined) return arg;
      // An argument of open type stops the checks of those behind it, but not the collection of marks.
      if (!open) {
        checkNullAndType(arg, parameter, i);
        open = arg.type.kind === "dynamic" && parameter.allowDynamicType !== true;
      }
      hasUnknown ||= !arg.isKnown && parameter.allowUnknown !== true;
      if (parameter.allowMarked === true) return arg;
      const [unmarked, own] = unmarkDeep(arg);
      marks = marks.union(own);
      return unmarked;
    });
    return { args: plain, marks, hasUnknown, open };
  }
}

function checkNullAndType(arg: Value, parameter: CtyParameter, position: number): void {
  if (arg.isNull && parameter.allowNull !== true) {
    throw argumentError(position, "the argument must not be null");
  }
  if (arg.type.kind === "dynamic" || conformsTo(arg.type, parameter.type)) return;
  throw argumentError(
    position,
    `expected ${typeName(parameter.type, true)}, got ${typeName(arg.type)}`,
  );
}

/** Lets errors of this package pass and wraps all others: an implementation must not bring its caller down. */
function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw CtyError.from(error);
  }
}

function broken(message: string, cause?: unknown): CtyError {
  return new CtyError("CTY_FUNCTION", message, { cause });
}

/** Declares a function. */
export function defineCtyFunction(spec: FunctionSpec): CtyFunction {
  return new CtyFunction(spec);
}

/** An error about one argument, for implementations to throw. */
export function argumentError(position: number, message: string, cause?: unknown): CtyError {
  const path = cause instanceof CtyError ? cause.path : undefined;
  return new CtyError("CTY_ARGUMENT", message, { argument: position, path, cause });
}

/**
 * The same function, except that its results are unknown. It stands for a function whose result will be different when
 * it counts, such as one that returns the time, while it must not be called yet. Arguments are still checked.
 */
export function unpredictable(original: CtyFunction): CtyFunction {
  return new CtyFunction({
    ...original.spec,
    implement: (_args, type) => Value.unknown(type),
  });
}
