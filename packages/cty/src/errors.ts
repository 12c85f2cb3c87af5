import type { Path } from "./path/path.ts";

/** What the table says about one error code. */
interface CtyErrorEntry {
  /** What went wrong, in one sentence for the reader of a log. */
  readonly summary: string;
  /** gRPC status for services that pass the error on: 3 INVALID_ARGUMENT, 8 RESOURCE_EXHAUSTED, 13 INTERNAL. */
  readonly grpcStatus: 3 | 8 | 13;
}

/**
 * Every code that this package throws. Codes are contract, message texts are not.
 * Nothing here is retryable: the same input fails the same way.
 */
export const CTY_ERRORS = {
  CTY_INVALID_TYPE: { summary: "a type cannot be built from these parts", grpcStatus: 3 },
  CTY_TOO_DEEP: { summary: "a type or value is nested more deeply than allowed", grpcStatus: 8 },
  CTY_INVALID_VALUE: { summary: "a value cannot be built from these parts", grpcStatus: 3 },
  CTY_WRONG_TYPE: {
    summary: "an operation got a value of a type it does not support",
    grpcStatus: 3,
  },
  CTY_NULL: { summary: "an operation got a null value", grpcStatus: 3 },
  CTY_UNKNOWN: { summary: "a known value is needed here", grpcStatus: 3 },
  CTY_MARKED: { summary: "marks must be handled before this use of the value", grpcStatus: 3 },
  CTY_NO_SUCH_ELEMENT: { summary: "there is no element or attribute at this step", grpcStatus: 3 },
  CTY_NUMBER_SYNTAX: { summary: "the text is not a number", grpcStatus: 3 },
  CTY_NUMBER_RANGE: {
    summary: "the number does not fit the requested representation",
    grpcStatus: 3,
  },
  CTY_NOT_A_NUMBER: { summary: "the arithmetic has no defined result", grpcStatus: 3 },
  CTY_REFINEMENT: { summary: "refinements contradict each other or the value", grpcStatus: 3 },
  CTY_CONVERSION: { summary: "the value cannot be converted to the type", grpcStatus: 3 },
  CTY_ARGUMENT: { summary: "a function argument is not acceptable", grpcStatus: 3 },
  CTY_ARGUMENT_COUNT: { summary: "a function got too few or too many arguments", grpcStatus: 3 },
  CTY_FUNCTION: {
    summary: "a function implementation failed or broke its own declaration",
    grpcStatus: 13,
  },
  CTY_JSON: { summary: "the JSON text is malformed or does not fit the type", grpcStatus: 3 },
  CTY_MSGPACK: { summary: "the msgpack bytes are malformed or do not fit the type", grpcStatus: 3 },
  CTY_UNSERIALIZABLE: { summary: "the value has no representation in this format", grpcStatus: 3 },
} as const satisfies Record<string, CtyErrorEntry>;

/** A code of {@link CTY_ERRORS}. */
export type CtyErrorCode = keyof typeof CTY_ERRORS;

/** What an error carries besides its message. */
export interface CtyErrorOptions {
  /** Where in the value the problem is, counted from the value given to the call. */
  readonly path?: Path | undefined;
  /** Zero-based index of the function argument that is at fault. */
  readonly argument?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The one error class of this package. `code` identifies the error and is contract; the message is for readers
 * and never contains the content of a value, so that it can be shown where the value may not be.
 */
export class CtyError extends Error {
  override readonly name = "CtyError";
  readonly code: CtyErrorCode;
  /** Repeating the call with the same input never helps. */
  readonly retryable = false;
  /** Where in the value the problem is; undefined when the error is not about a place. */
  readonly path: Path | undefined;
  /** Zero-based index of the function argument at fault, for errors of function calls. */
  readonly argument: number | undefined;

  constructor(code: CtyErrorCode, message: string, options: CtyErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.path = options.path;
    this.argument = options.argument;
  }

  /** gRPC status code that a service answers with when this error reaches its edge. */
  get grpcStatus(): number {
    return CTY_ERRORS[this.code].grpcStatus;
  }

  /** The same error, with its path counted from a whole that has the value at `parent`. */
  within(parent: Path): CtyError {
    const path = this.path === undefined ? parent : parent.concat(this.path);
    return new CtyError(this.code, this.message, {
      path,
      argument: this.argument,
      cause: this.cause,
    });
  }

  /** Any thrown thing as a {@link CtyError}; what is not one already becomes `CTY_FUNCTION` with the original as cause. */
  static from(error: unknown): CtyError {
    if (error instanceof CtyError) return error;
    const message = error instanceof Error ? error.message : String(error);
    return new CtyError("CTY_FUNCTION", message, { cause: error });
  }
}
