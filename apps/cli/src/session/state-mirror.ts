import type { CommandContext } from "../command-context.ts";
import { openOldBackend } from "./old-backend.ts";
import { loadProject } from "./project.ts";
import type { StackSession } from "./session.ts";
import { writeBack } from "./write-back.ts";

/**
 * Writes the state to the backend that it was adopted from, where that was asked for and a revision was not written yet. It
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
    if (run !== "") return;
    const current = await stacks.find(project, stack.name);
    const origin = current?.adoption;
    if (origin?.kind !== "state" || origin.handedBack || origin.mirror.revision >= revision) return;
    const { mirror } = origin;
    try {
      const configuration = await loadProject(context);
      const options = { backendConfig: [] };
      await using backend = await openOldBackend(configuration, options, context);
      const written = await writeBack(session.state, origin, backend, "stackwright mirror");
      const updated = { ...mirror, ...written, timeMs: Date.now(), problem: "" };
      await stacks.recordOrigin(project, stack.name, { ...origin, mirror: updated });
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      context.terminal.writeError(
        `Warning: the copy of the state in ${origin.place} was not written: ${problem}\n  The state of the stack is complete. The next command that writes the stack tries again.\n`,
      );
      await stacks.recordOrigin(project, stack.name, { ...origin, mirror: { ...mirror, problem } });
    }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    context.terminal.writeError(`Warning: the copy of the state was not checked: ${problem}\n`);
  }
}
