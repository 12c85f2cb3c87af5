import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { importState, parseStateFile } from "@stackwright/core";
import { createUlidGenerator } from "@stackwright/storage";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openWriter, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";
import { type PlanCommandOptions, plan } from "./plan.ts";

/** Options of `import-state`. */
export interface ImportStateOptions extends StoreOptions, Omit<PlanCommandOptions, "out"> {
  /** Do not show a plan afterwards. */
  readonly plan: boolean;
}

/** Writes that are under way at the same time. */
const CONCURRENCY = 32;

/**
 * Takes a Terraform state of version 4 over into a stack that has none yet, and shows a plan, which is empty where the
 * configuration is the one that the state came from.
 */
export async function importStateCommand(
  file: string,
  options: ImportStateOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const text = await readFile(resolve(context.directory, file), "utf8").catch((error: unknown) => {
    throw new CommandError(`The state file "${file}" cannot be read.`, { cause: error });
  });
  const found = parseStateFile(text);
  const { changes, outputs } = importState(found);
  {
    await using session = await openWriter(context, options);
    const { objects } = await session.state.read();
    if (objects.size > 0) {
      throw new CommandError(
        `The stack "${session.stack.name}" has ${objects.size} objects already.`,
        {
          advice:
            "A state is taken over by a stack that has none. Name another one with --stack NAME.",
        },
      );
    }
    await using hold = await acquireStackLock(session, options, context);
    const writer = await hold.begin({ run: createUlidGenerator({ wallMs: Date.now })() });
    const queue = changes.values();
    const work = async (): Promise<void> => {
      for (const change of queue) await writer.write(change);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    await writer.finish({ outputs });
    await session.stacks.recordOrigin(session.project, session.stack.name, {
      kind: "state",
      timeMs: Date.now(),
      actor: session.newRun().cause,
      lineage: found.lineage,
      serial: found.serial,
    });
  }
  if (!options.json) {
    context.terminal.write(`Took over ${changes.length} objects and ${outputs.size} outputs.\n\n`);
  }
  return options.plan ? plan({ ...options, detailedExitcode: false }, context) : EXIT.ok;
}
