import type { StackOrigin, StateMirrorRecord } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { openOldBackend } from "./old-backend.ts";
import { loadProject } from "./project.ts";
import type { StackSession } from "./session.ts";
import { writeBack } from "./write-back.ts";

/**
 * Writes the state to the backend that it was adopted from, where that was asked for and a revision was not written yet. It
 * has the lock of the stack meanwhile: two writers would leave the older revision there, and a hand-back may be under way. It
 * never fails: a problem is shown and recorded, and the next command that writes the stack tries again.
 */
export async function mirrorState(
  session: Pick<StackSession, "stacks" | "project" | "stack" | "state">,
  context: CommandContext,
): Promise<void> {
  const { stacks, project, stack } = session;
  if (stack.adoption?.kind !== "state" || !stack.adoption.mirror.enabled) return;
  try {
    const { revision, run } = await session.state.head();
    // What an interrupted run left is finished by the next one.
    if (run !== "" || stack.adoption.mirror.revision >= revision) return;
    // The run that has the stack writes the copy at its end.
    await using lock = await session.state.tryAcquire();
    if (lock === undefined) return;
    const current = await stacks.find(project, stack.name);
    const origin = current?.adoption;
    if (origin?.kind !== "state" || origin.handedBack || origin.mirror.revision >= revision) return;
    const { mirror } = origin;
    let announced = mirror;
    try {
      const configuration = await loadProject(context);
      const options = { backendConfig: [], ...pullOf(origin) };
      await using backend = await openOldBackend(configuration, options, context);
      const announce = async (next: StateMirrorRecord): Promise<void> => {
        announced = next;
        await stacks.recordOrigin(project, stack.name, { ...origin, mirror: next });
      };
      const operation = "stackwright mirror";
      const written = await writeBack({
        state: session.state,
        origin,
        backend,
        operation,
        announce,
      });
      const updated = { ...mirror, ...written, timeMs: Date.now(), problem: "" };
      await stacks.recordOrigin(project, stack.name, { ...origin, mirror: updated });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      context.terminal.writeError(
        `Warning: the copy of the state in ${origin.place} was not written: ${problem}\n  The state of the stack is complete. The next command that writes the stack tries again.\n`,
      );
      const failed = { ...announced, problem };
      await stacks.recordOrigin(project, stack.name, { ...origin, mirror: failed });
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    context.terminal.writeError(`Warning: the copy of the state was not checked: ${problem}\n`);
  }
}

/** The command that read the backend in the adoption writes it too; its place names it. */
function pullOf({ backend, place }: Extract<StackOrigin, { kind: "state" }>): { pull?: string } {
  const command =
    backend === "command" ? / read by "(.+) state pull"$/.exec(place)?.[1] : undefined;
  return command === undefined ? {} : { pull: command };
}
