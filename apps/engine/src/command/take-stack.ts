import { setTimeout as delay } from "node:timers/promises";
import { readStored } from "@stackwright/storage";
import { fenceId, tenureOf } from "@stackwright/storage/lease";
import { stackTenancy } from "../state/kinds.ts";
import type { StackHold } from "../state/stack-state.ts";
import type { CommandContext } from "./command-context.ts";
import { CommandError } from "./command-error.ts";
import { parseDuration, type StackSession, type StoreOptions } from "./session.ts";

const POLL_MS = 500;

/** Takes the stack; waits as long as `--lock-timeout` says for who has it, and says who that is. */
export async function takeStack(
  session: StackSession,
  options: StoreOptions,
  { terminal, signal }: CommandContext,
): Promise<StackHold> {
  const deadline = performance.now() + parseDuration(options.lockTimeout);
  let told = false;
  for (;;) {
    const hold = await session.state.tryAcquire({ signal });
    if (hold !== undefined) return hold;
    const who = await holderOf(session);
    if (performance.now() >= deadline) {
      throw new CommandError(`The stack "${session.stack.name}" is in use by ${who}.`, {
        advice:
          "Wait until that run has ended, or let this command wait with --lock-timeout 5m. A holder that is gone is noticed after a while.",
      });
    }
    if (!told) terminal.writeError(`Waiting for the stack: ${who} works on it.\n`);
    told = true;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** Who has the stack, as it named itself. */
async function holderOf({ store, state }: StackSession): Promise<string> {
  const name = { tenancy: stackTenancy(state.reference), name: state.reference.stack };
  const { owner } = tenureOf(await readStored(store.storage, "strong", fenceId(name)));
  return owner === "" ? "another run" : owner;
}
