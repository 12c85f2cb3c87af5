import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openReader, type StoreOptions } from "../session/session.ts";
import { snapshotOf } from "./show.ts";
import { stateEditCommand } from "./state-edit.ts";

export interface TaintOptions extends StoreOptions {
  /** An unknown object is a warning. */
  readonly allowMissing: boolean;
}

/** Marks one object for replacement, or removes the mark. Asks no question, as the reference command. */
export async function taint(
  kind: "taint" | "untaint",
  address: string,
  options: TaintOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const object = await objectAt(address, options, context);
  const problem =
    object === undefined
      ? `No object "${address}" exists in the state.`
      : kind === "untaint" && object.phase !== "tainted"
        ? `The object "${address}" is not tainted.`
        : undefined;
  if (problem !== undefined) {
    if (object !== undefined || !options.allowMissing) {
      throw new CommandError(problem, {
        advice: '"stackwright state list" shows the addresses of the state.',
      });
    }
    context.terminal.writeError(`Warning: ${problem}\n`);
    return EXIT.ok;
  }
  return stateEditCommand([{ kind, address }], { ...options, yes: true, dryRun: false }, context);
}

async function objectAt(address: string, options: StoreOptions, context: CommandContext) {
  const session = await openReader(context, options);
  try {
    const { objects } = await snapshotOf(session, context);
    return [...objects.values()].find(
      (object) => object.address === address && object.deposed === "" && object.mode === "managed",
    );
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}
