import { isEngineError } from "@stackwright/core/errors";

/** An error in the use of the command, or an unsupported request; its message has one or two sentences. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** What the reader can do about it. */
  readonly advice: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly advice?: string } = {}) {
    super(message, options);
    this.advice = options.advice;
  }
}

/** What the reader of an error can do about it, where it says so. */
export function hintOf(error: unknown): string | undefined {
  if (error instanceof CommandError) return error.advice;
  return isEngineError(error) ? error.details.advice : undefined;
}
