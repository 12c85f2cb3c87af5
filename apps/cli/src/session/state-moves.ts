import { hasState, type SeenState, type StackPlace, untilOtherState } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { openReader, type Session, type StoreOptions, storeAddress } from "./session.ts";
import { stackName } from "./stack-name.ts";
import { StoreFolder } from "./store-folder.ts";

/** The stack that a command means, in the store that it opened. */
export function stackPlace(
  { store, project }: Session,
  context: CommandContext,
  options: StoreOptions,
): StackPlace {
  return { storage: store.storage, project, name: stackName(context, options) };
}

/**
 * Resolves once the stack of a folder has another state than the one that was seen, whichever process writes it. A store that others share
 * says so itself; of an embedded one the file system says that something was written, and nothing is open meanwhile.
 */
export async function untilStateMoves(
  seen: SeenState,
  options: StoreOptions,
  context: CommandContext,
): Promise<void> {
  const { signal } = context;
  const address = storeAddress(context, options);
  if (address.kind !== "sqlite") {
    await using session = await openReader(context, options);
    if (session === undefined) return;
    await untilOtherState(stackPlace(session, context, options), seen, { signal });
    return;
  }
  using folder = new StoreFolder(address.directory);
  do {
    await folder.written(signal);
  } while (await stays(seen, options, context));
}

/** Whether the state is the one that was seen. */
async function stays(
  seen: SeenState,
  options: StoreOptions,
  context: CommandContext,
): Promise<boolean> {
  const { signal } = context;
  try {
    await using session = await openReader(context, options);
    if (session === undefined) return seen.stack === "";
    return await hasState(stackPlace(session, context, options), seen, { signal });
  } catch {
    // A store that is just being made; what its maker writes next is seen.
    signal.throwIfAborted();
    return true;
  }
}
