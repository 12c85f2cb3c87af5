import { exportedSerial, type StackOrigin, type StateMirrorRecord } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type OldBackendOptions, openOldBackend } from "../session/old-backend.ts";
import { loadProject } from "../session/project.ts";
import { openWriter, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";
import { writeBack } from "../session/write-back.ts";

export interface HandBackOptions extends StoreOptions, OldBackendOptions {
  readonly yes: boolean;
}

/** Writes the state to the backend that it was adopted from, and lets no further run begin on the stack. */
export async function handBack(
  options: HandBackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  await using session = await openWriter(context, options);
  const { stack, state, stacks, project } = session;
  let origin = stack.adoption;
  if (origin?.kind !== "state" || origin.backend === "" || origin.backend === "file") {
    throw new CommandError(`The stack "${stack.name}" was not adopted from a backend.`, {
      advice: "Write its state to a file: stackwright export-state > FILE",
    });
  }
  if (origin.handedBack && isFinished(origin)) {
    terminal.write(`The stack "${stack.name}" was handed back before.\n`);
    return EXIT.ok;
  }
  if (!options.yes) {
    const question = `The state is written to ${origin.place}, and the stack takes no further runs. Only "yes" is taken as a yes: `;
    if (!terminal.interactive) {
      throw new CommandError("A hand-back needs an approval. Run it in a terminal, or with --yes.");
    }
    if ((await terminal.ask(question, { signal }))?.trim() !== "yes") return EXIT.failed;
  }
  await using _lock = await acquireStackLock(session, options, context, { endsHandBack: true });
  if ((await state.head()).run !== "") {
    throw new CommandError("A run was interrupted; its objects are not settled yet.", {
      advice: "Resolve them first: stackwright recover",
    });
  }
  // A mirror may have written meanwhile.
  const current = (await stacks.find(project, stack.name))?.adoption;
  if (current?.kind === "state") origin = current;
  const adopted = origin;
  const configuration = await loadProject(context);
  await using backend = await openOldBackend(configuration, options, context);
  // The stack takes no runs from before the other command may: not both after an interruption.
  const announce = async (mirror: StateMirrorRecord): Promise<void> => {
    await stacks.recordOrigin(project, stack.name, { ...adopted, mirror, handedBack: true });
    announced = mirror;
  };
  let announced: StateMirrorRecord | undefined;
  const operation = "stackwright hand-back";
  const call = { signal };
  const written = await writeBack({ state, origin, backend, operation, announce }, call).catch(
    async (error: unknown) => {
      if (announced !== undefined) {
        await stacks.recordOrigin(project, stack.name, { ...adopted, mirror: announced });
      }
      throw error;
    },
  );
  const { serial } = written;
  const mirror = { ...origin.mirror, ...written };
  const done = { ...origin, mirror, handedBack: true };
  await stacks.recordOrigin(project, stack.name, done);
  // Last: until now no other command may work on the state.
  if (origin.lockId !== "") {
    await backend.unlock?.(origin.workspace, origin.lockId, { signal });
    await stacks.recordOrigin(project, stack.name, { ...done, lockId: "" });
  }
  terminal.write(
    `Handed back to ${backend.place(origin.workspace)}: lineage ${origin.lineage}, serial ${serial}.\nThe stack "${stack.name}" takes no further runs.\n`,
  );
  return EXIT.ok;
}

/** Whether the backend was written, and its lock released; else the command was interrupted and goes on where it was. */
function isFinished(origin: Extract<StackOrigin, { kind: "state" }>): boolean {
  const { lockId, mirror } = origin;
  return lockId === "" && mirror.serial === exportedSerial(origin, mirror.revision);
}
