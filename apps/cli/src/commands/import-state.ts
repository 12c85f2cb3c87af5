import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { adoptState, importState, NO_MIRROR, readStateFile } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openWriter, type StoreOptions } from "../session/session.ts";
import { type PlanCommandOptions, plan } from "./plan.ts";

/** Options of `import-state`. */
export interface ImportStateOptions extends StoreOptions, Omit<PlanCommandOptions, "out"> {
  /** Do not show a plan afterwards. */
  readonly plan: boolean;
}

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
  const found = readStateFile(text);
  const { changes, outputs } = importState(found);
  {
    await using session = await openWriter(context, options);
    await adoptState({
      stacks: session.stacks,
      stateOf: (reference) => session.stateOf({ ...session.stack, reference }),
      project: session.project,
      name: session.stack.name,
      file: found,
      origin: {
        kind: "state",
        timeMs: Date.now(),
        actor: session.newRun().cause,
        lineage: found.lineage,
        serial: found.serial,
        backend: "",
        place: `file ${file}`,
        placeDigest: "",
        workspace: "",
        sha256: createHash("sha256").update(text).digest("hex"),
        terraformVersion: found.terraformVersion,
        acceptedChanges: 0,
        lockId: "",
        renamedTo: "",
        mirror: NO_MIRROR,
        handedBack: false,
      },
      signal: context.signal,
    });
  }
  if (!options.json) {
    context.terminal.write(`Took over ${changes.length} objects and ${outputs.size} outputs.\n\n`);
  }
  return options.plan ? plan({ ...options, detailedExitcode: false }, context) : EXIT.ok;
}
