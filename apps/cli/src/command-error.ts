import { isEngineError } from "@stackwright/core/errors";

/** A mistake in how the command is used, or a thing it cannot do here; told in one sentence or two. */
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
