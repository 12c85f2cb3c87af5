import { CommandError } from "../command-error.ts";
import type { Terminal } from "./terminal.ts";

/** The error where a user has to decide something and no question can be asked, with the reason for that. */
export function cannotAsk(
  { mayAsk }: Pick<Terminal, "mayAsk">,
  {
    need,
    advice,
    input = true,
    json = false,
  }: {
    /** What is required: `Approval is required to apply the plan`. */
    readonly need: string;
    readonly advice: string;
    /** False: the option `-input=false` was given. */
    readonly input?: boolean;
    readonly json?: boolean;
  },
): CommandError {
  let why = "input and output have to be a terminal";
  if (json) why = "the output is JSON";
  else if (!input) why = "-input=false allows none";
  else if (!mayAsk) why = "TF_INPUT allows none";
  return new CommandError(`${need}, but no question can be asked: ${why}.`, { advice });
}
