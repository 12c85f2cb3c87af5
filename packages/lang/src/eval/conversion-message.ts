import { CtyError } from "@stackwright/cty";

/** What an error of the value system says, to be put into a sentence. Other errors are thrown on. */
export function conversionMessage(error: unknown): string {
  if (!(error instanceof CtyError)) throw error;
  return error.message;
}
