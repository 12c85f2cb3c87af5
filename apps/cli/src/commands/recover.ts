import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { RecoveredOperation, Resolution, StateObject } from "@stackwright/core";
import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { refuseHandedBack } from "../session/handed-back.ts";
import { openEngine } from "../session/open-engine.ts";
import {
  loadProject,
  type Project,
  readVariables,
  type VariableInput,
} from "../session/project.ts";
import { openWriter, type StackSession, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";
import { stackName } from "../session/stack-name.ts";
import {
  classesOf,
  type RecoverClass,
  readIds,
  type UnresolvedClasses,
} from "../session/unresolved-classes.ts";

export interface RecoverOptions extends StoreOptions {
  readonly inputs: readonly VariableInput[];
  /** Read objects that are known. */
  readonly read: boolean;
  /** Look for created objects under the identity that follows from the configuration. */
  readonly identity: boolean;
  /** `ADDRESS=ID`. */
  readonly id: readonly string[];
  /** A file with one `ADDRESS=ID` a line. */
  readonly ids?: string;
  /** Addresses of objects that do not exist; `all` for all that are left. */
  readonly absent: readonly string[];
  readonly yes: boolean;
  readonly json: boolean;
}

/**
 * Resolves objects of which it is not known what became of a call. Each class is one question: read those that are known,
 * look for those with an identity, take the rest as absent. Ids of single objects are given as options.
 */
export async function recover(options: RecoverOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(context, undefined, options);
  const { diagnostics } = project.configuration;
  if (hasErrors(diagnostics)) {
    showDiagnostics(terminal, diagnostics);
    return EXIT.failed;
  }
  const ids = readIds([
    ...options.id,
    ...(options.ids === undefined ? [] : await linesOf(options.ids, context)),
  ]);
  await using session = await openWriter(context, options);
  refuseHandedBack(session.stack);
  const done: RecoveredOperation[] = [];
  const run = async (decide: (object: StateObject) => Resolution | undefined): Promise<void> => {
    done.push(...(await settle(decide, { session, project, options, context })));
  };

  // What an interrupted run left is settled as the next plan would do it; ids are certain.
  if ((await session.state.head()).run !== "") await run(() => undefined);
  const before = await unresolvedOf(session);
  requireUnresolved(before, [...ids.keys(), ...options.absent.filter((one) => one !== "all")]);
  if (ids.size > 0) {
    await run((object) => {
      const id = object.deposed === "" ? ids.get(object.address) : undefined;
      return id === undefined ? undefined : { kind: "id", id };
    });
  }
  const named = new Set(options.absent);
  if (named.size > 0 && !named.has("all")) {
    await run(({ address }) => (named.has(address) ? { kind: "absent" } : undefined));
  }
  for (const name of ["read", "identity", "absent"] as const) {
    const open = classesOf(await unresolvedOf(session));
    const members = membersOf(name, open);
    if (members.length === 0) continue;
    const wanted = name === "absent" ? named.has("all") : options[name] || options.yes;
    if (!wanted && !(await isWanted(name, members, options, context))) continue;
    const keys = new Set(members);
    const kind = name === "absent" ? "absent" : "look";
    await run((object) => (keys.has(keyOf(object)) ? { kind } : undefined));
  }
  const left = await unresolvedOf(session);
  report(done, left, options, context);
  return left.length === 0 ? EXIT.ok : EXIT.failed;
}

interface Settling {
  readonly session: StackSession;
  readonly project: Project;
  readonly options: RecoverOptions;
  readonly context: CommandContext;
}

async function settle(
  decide: (object: StateObject) => Resolution | undefined,
  { session, project, options, context }: Settling,
): Promise<readonly RecoveredOperation[]> {
  const { configuration } = project;
  const input = { input: !options.json && !options.yes };
  const variables = await readVariables(project, options.inputs, context, input);
  if (hasErrors(variables.diagnostics)) {
    showDiagnostics(context.terminal, variables.diagnostics);
    throw new CommandError(
      "Variables of the configuration have no values, so providers cannot be configured.",
    );
  }
  await using engine = await openEngine(project, context, {
    state: session.state,
    session,
    registry: options.registry,
  });
  await using hold = await acquireStackLock(session, options, context, { passesLock: true });
  const { operations } = await engine.resolve({
    state: session.state,
    hold,
    configuration,
    variables: variables.values,
    workspace: stackName(context, options),
    resolve: decide,
    signal: context.signal,
  });
  return operations;
}

async function unresolvedOf({ state }: StackSession): Promise<readonly StateObject[]> {
  const { objects } = await state.read();
  return [...objects.values()].filter(({ phase }) => phase === "unresolved");
}

function membersOf(name: RecoverClass, classes: UnresolvedClasses): readonly string[] {
  const objects = name === "absent" ? [...classes.unknown, ...classes.identity] : classes[name];
  return objects.map(keyOf);
}

const QUESTIONS: Readonly<Record<RecoverClass, string>> = {
  read: "These objects are known. Read them to see what became of the call?",
  identity: "These objects would have an identity that is known. Look for them under it?",
  absent:
    "These objects were not found, or no lookup is possible. Do none of them exist? (Give the id of one that exists with --id ADDRESS=ID.)",
};

async function isWanted(
  name: RecoverClass,
  members: readonly string[],
  { json }: RecoverOptions,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  if (!terminal.interactive || json) return false;
  const list = members.map((one) => `  ${one}\n`).join("");
  terminal.write(`\n${QUESTIONS[name]}\n${list}`);
  const answer = await terminal.ask('Only "yes" is taken as a yes: ', { signal });
  return answer?.trim() === "yes";
}

function requireUnresolved(objects: readonly StateObject[], addresses: readonly string[]): void {
  const known = new Set(objects.map(({ address }) => address));
  const wrong = addresses.find((address) => !known.has(address));
  if (wrong === undefined) return;
  throw new CommandError(`${wrong} is not unresolved.`, {
    advice:
      known.size === 0
        ? "No object of the stack is unresolved."
        : `Unresolved objects: ${[...known].join(", ")}`,
  });
}

function report(
  done: readonly RecoveredOperation[],
  left: readonly StateObject[],
  { json }: RecoverOptions,
  { terminal }: CommandContext,
): void {
  const last = new Map(done.map((one) => [keyOf(one), one]));
  if (json) {
    const unresolved = left.map((object) => ({
      address: object.address,
      ...(object.deposed !== "" && { deposed: object.deposed }),
      operation: object.operation?.kind,
      problem: last.get(keyOf(object))?.problem ?? object.operation?.problem,
    }));
    const resolved = [...last.values()].filter(({ outcome }) => outcome !== "unresolved");
    terminal.write(`${JSON.stringify({ resolved, unresolved }, undefined, 2)}\n`);
    return;
  }
  for (const { address, deposed, outcome } of last.values()) {
    if (outcome === "unresolved") continue;
    terminal.write(`${keyOf({ address, deposed })}: ${OUTCOMES[outcome]}\n`);
  }
  for (const object of left) {
    const problem = last.get(keyOf(object))?.problem ?? object.operation?.problem ?? "";
    terminal.write(`${keyOf(object)}: still unresolved. ${problem}\n`);
  }
  if (last.size === 0 && left.length === 0) terminal.write("No object is unresolved.\n");
  if (left.length > 0) {
    terminal.writeError(
      "\nResolve them with --read, --identity, --id ADDRESS=ID, --ids FILE or --absent ADDRESS (--absent all).\n",
    );
  }
}

const OUTCOMES = {
  exists: "exists, and is recorded as it is",
  absent: "does not exist",
  untouched: "is as it was before",
} as const;

function keyOf({ address, deposed }: Pick<StateObject, "address" | "deposed">): string {
  return deposed === "" ? address : `${address} (deposed ${deposed})`;
}

async function linesOf(file: string, { directory }: CommandContext): Promise<string[]> {
  try {
    return (await readFile(resolve(directory, file), "utf8")).split("\n");
  } catch (error) {
    throw new CommandError(`The file of ids "${file}" cannot be read.`, { cause: error });
  }
}
