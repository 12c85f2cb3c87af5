import { exportLine, exportState } from "@stackwright/core";
import { formatStateFile } from "@stackwright/tfstate";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { readOnlyState } from "../session/read-only-state.ts";
import { requireAdoptedToRead } from "../session/require-adopted.ts";
import { openReader, type StoreOptions } from "../session/session.ts";

/** Writes the state of the stack as a Terraform state of version 4; secrets are in the clear. */
export async function exportStateCommand(
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const session = await openReader(context, options);
  try {
    const state = readOnlyState(
      session?.stack === undefined ? undefined : session.stateOf(session.stack),
    );
    const snapshot = await state.read({ signal: context.signal });
    const file = exportState(state.reference, snapshot, exportLine(session?.stack, snapshot));
    context.terminal.write(formatStateFile(file));
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** The same for `state pull`: a stack without a state writes nothing. */
export async function statePull(options: StoreOptions, context: CommandContext): Promise<ExitCode> {
  const session = await openReader(context, options);
  const state = session?.stack === undefined ? undefined : session.stateOf(session.stack);
  try {
    await requireAdoptedToRead(session, options, context);
    const revision = (await state?.head({ signal: context.signal }))?.revision ?? 0n;
    if (revision === 0n) return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
  return exportStateCommand(options, context);
}
