import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  applyStateEdits,
  planStateEdits,
  removeStackState,
  selectedWorkspace,
  terraformDataFolder,
} from "@stackwright/core";
import { createUlidGenerator } from "@stackwright/storage";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { counted } from "../render/counted.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { warnOfUnadopted } from "../session/require-adopted.ts";
import {
  openExisting,
  openReader,
  openWriter,
  type Session,
  type StackSession,
  type StoreOptions,
} from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";
import { stackName } from "../session/stack-name.ts";

/** The workspace that always exists. */
const DEFAULT = "default";

/** Lists the workspaces, which are the stacks of the project, with the selected one. */
export async function workspaceList(
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, env } = context;
  const current = stackName(context, options);
  const session = await openReader(context, options);
  try {
    await warnOfUnadopted(session, options, context, "Its workspaces are not listed.");
    const names = new Set([DEFAULT, ...(await namesIn(session)).toSorted()]);
    for (const name of names) {
      terminal.write(`${name === current ? "*" : " "} ${name}\n`);
    }
    if (!names.has(current)) {
      terminal.writeError(`The selected workspace "${current}" does not exist yet.\n`);
    }
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
  if (isSet(env["TF_WORKSPACE"])) {
    terminal.write(`\nTF_WORKSPACE selects the workspace "${current}".\n`);
  }
  return EXIT.ok;
}

/** Shows the name of the selected workspace, also where it does not exist yet. */
export function workspaceShow(options: StoreOptions, context: CommandContext): ExitCode {
  context.terminal.write(`${stackName(context, options)}\n`);
  return EXIT.ok;
}

/** Creates a workspace and selects it. */
export async function workspaceNew(
  name: string,
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  refuseNamed(context, undefined);
  if (name === "") throw new CommandError("A workspace needs a name.");
  if (name === DEFAULT || (await stackNames(options, context)).includes(name)) {
    throw new CommandError(`The workspace "${name}" exists already.`, {
      advice: `Use "stackwright workspace select ${name}".`,
    });
  }
  await create(name, options, context);
  await select(name, context);
  context.terminal.write(`Created and selected the workspace "${name}".\n`);
  return EXIT.ok;
}

/** Selects a workspace for the following commands in this directory. */
export async function workspaceSelect(
  name: string,
  options: StoreOptions & { readonly orCreate: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  refuseNamed(context, name);
  const current = stackName(context, {});
  const names = [DEFAULT, ...(await stackNames(options, context))];
  if (!names.includes(name)) {
    if (!options.orCreate) {
      throw new CommandError(`Workspace not found: no workspace "${name}" exists.`, {
        advice: `Create it with "stackwright workspace new ${name}", or use -or-create.`,
      });
    }
    return workspaceNew(name, options, context);
  }
  if (name === current) return EXIT.ok;
  await select(name, context);
  terminal.write(`Selected the workspace "${name}".\n`);
  return EXIT.ok;
}

/** Deletes a workspace with all that the store has of it. Its objects stay as they are. */
export async function workspaceDelete(
  name: string,
  options: StoreOptions & { readonly force: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  if (name === DEFAULT) throw new CommandError(`The workspace "${DEFAULT}" cannot be deleted.`);
  if (name === stackName(context, {})) {
    throw new CommandError(`The workspace "${name}" is selected.`, {
      advice: `Select another one first: "stackwright workspace select ${DEFAULT}".`,
    });
  }
  const found = await openExisting(context, { ...options, stack: name });
  try {
    const stack = found?.stack;
    if (found === undefined || stack === undefined) {
      throw new CommandError(`Workspace not found: no workspace "${name}" exists.`);
    }
    refuseHandedBack(stack);
    await forget({ ...found, stack, state: found.stateOf(stack) }, options, context);
    // The name is gone, and no process holds the stack: nothing is written any more.
    await removeStackState(found.store.storage, stack.reference, { signal });
  } finally {
    await found?.[Symbol.asyncDispose]();
  }
  terminal.write(`Deleted the workspace "${name}".\n`);
  return EXIT.ok;
}

/** Removes the objects of a workspace from its state, and then its name. */
async function forget(
  session: StackSession,
  options: StoreOptions & { readonly force: boolean },
  context: CommandContext,
): Promise<void> {
  const { stack, state, stacks } = session;
  const { signal } = context;
  await using hold = await acquireStackLock(session, options, context);
  const snapshot = await state.read({ signal });
  const addresses = new Set([...snapshot.objects.values()].map(({ address }) => address));
  if (addresses.size > 0 && !options.force) {
    throw new CommandError(
      `The workspace "${stack.name}" has ${counted(addresses.size, "object")}.`,
      {
        advice:
          'Destroy them first with "stackwright destroy", or remove them from the state with -force.',
      },
    );
  }
  const edits = planStateEdits(
    snapshot,
    [...addresses].map((address) => ({ kind: "forget", address })),
  );
  if (edits.steps.length > 0) {
    await applyStateEdits(hold, createUlidGenerator({ wallMs: Date.now })(), edits);
  }
  await stacks.remove(stack, { signal });
}

async function stackNames(options: StoreOptions, context: CommandContext): Promise<string[]> {
  const session = await openReader(context, options);
  try {
    return await namesIn(session);
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

async function namesIn(session: Session | undefined): Promise<string[]> {
  const stacks = (await session?.stacks.list(session.project)) ?? [];
  return stacks.map(({ name }) => name);
}

async function create(name: string, options: StoreOptions, context: CommandContext): Promise<void> {
  // The selection of this directory does not matter for a stack that is named.
  await using _session = await openWriter(context, { ...options, stack: name });
}

/** A variable that selects a workspace wins over the file; a change of the file would have no effect. */
function refuseNamed({ env, directory }: CommandContext, wanted: string | undefined): void {
  const selected = selectedWorkspace({ env, directory });
  const byVariable = selected?.by === "TF_WORKSPACE" ? selected.name : undefined;
  for (const [variable, name] of [
    ["TF_WORKSPACE", byVariable],
    ["STACKWRIGHT_STACK", env["STACKWRIGHT_STACK"]],
  ] as const) {
    if (!isSet(name) || name === wanted) continue;
    throw new CommandError(`${variable} selects the workspace "${name}".`, {
      advice: `Unset ${variable} to select a workspace with this command.`,
    });
  }
}

/** The file in which the reference command keeps the selection as well. */
async function select(name: string, context: CommandContext): Promise<void> {
  const folder = terraformDataFolder(context);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "environment"), name);
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}
