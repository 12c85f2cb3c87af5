import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  exportLine,
  exportState,
  importState,
  readStateFile,
  type StackLock,
  type StackSnapshot,
  type StateStep,
  stateSteps,
} from "@stackwright/core";
import type { TerraformState } from "@stackwright/tfstate";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { openWriter, type StackSession, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";

export interface StatePushOptions extends StoreOptions {
  /** Another lineage or a lower serial is accepted, and no question is asked. */
  readonly force: boolean;
}

/** Replaces the state of the stack with that of a Terraform state file; unchanged objects are not written. */
export async function statePush(
  file: string,
  options: StatePushOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const pushed = readStateFile(await textOf(file, context));
  await using session = await openWriter(context, options);
  refuseHandedBack(session.stack);
  await using hold = await acquireStackLock(session, options, context);
  const snapshot = await session.state.read({ signal });
  if (snapshot.head.run !== "") {
    throw new CommandError(`The run ${snapshot.head.run} was interrupted.`, {
      advice: "Create a plan first; it resolves the operations of that run.",
    });
  }
  const current = exportState(
    session.state.reference,
    snapshot,
    exportLine(session.stack, snapshot),
  );
  if (!options.force && !isBlank(snapshot)) requireSameLine(current, pushed);
  const steps = stateSteps(current, pushed);
  const outputs = importState(pushed).outputs;
  if (steps.length === 0 && equal(entries(outputs), entries(snapshot.outputs))) {
    terminal.write("The state is the same. Nothing was changed.\n");
    return EXIT.ok;
  }
  for (const step of steps) terminal.write(stepText(step));
  if (!(await isApproved(options, context))) {
    terminal.write("Nothing was changed.\n");
    return EXIT.failed;
  }
  const revision = await write(session, hold, { base: snapshot.head.revision, steps, outputs });
  terminal.write(`The state is at revision ${revision}.\n`);
  return EXIT.ok;
}

async function textOf(file: string, { directory, terminal }: CommandContext): Promise<string> {
  if (file === "-") return terminal.readAll();
  return readFile(resolve(directory, file), "utf8").catch((error: unknown) => {
    throw new CommandError(`The state file "${file}" is not readable.`, { cause: error });
  });
}

function isBlank({ head, objects }: StackSnapshot): boolean {
  return head.revision === 0n || objects.size === 0;
}

function requireSameLine(current: TerraformState, pushed: TerraformState): void {
  if (current.lineage !== pushed.lineage) {
    throw new CommandError(
      `The lineage of the file is "${pushed.lineage}", that of the stack is "${current.lineage}".`,
      { advice: "Use -force to replace the state anyway." },
    );
  }
  if (pushed.serial < current.serial) {
    throw new CommandError(
      `The serial of the file is ${pushed.serial}, that of the stack is ${current.serial}.`,
      { advice: 'Begin with "stackwright state pull", or use -force.' },
    );
  }
}

function entries(outputs: StackSnapshot["outputs"]): unknown {
  return [...outputs].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

function equal(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}

function stepText(step: StateStep): string {
  const { address, deposed } = step.key;
  const sign = { adopt: "+", record: "~", forget: "-" }[step.kind];
  return `  ${sign} ${address}${deposed === "" ? "" : ` (deposed ${deposed})`}\n`;
}

async function isApproved(
  { force }: StatePushOptions,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  if (force || !terminal.interactive) return true;
  const answer = await terminal.ask('\nReplace the state? Only "yes" is accepted: ', { signal });
  return answer?.trim() === "yes";
}

async function write(
  session: StackSession,
  hold: StackLock,
  {
    base,
    steps,
    outputs,
  }: {
    readonly base: bigint;
    readonly steps: readonly StateStep[];
    readonly outputs: StackSnapshot["outputs"];
  },
): Promise<bigint> {
  const writer = await hold.begin({ run: session.newRun().id, base });
  for (const step of steps) await writer.write(step);
  return (await writer.finish({ outputs })).revision;
}
