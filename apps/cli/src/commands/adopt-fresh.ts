import { selectedWorkspace } from "@stackwright/core";
import { parseStateFile, TfstateError, type TfstateErrorCode } from "@stackwright/tfstate";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type OldBackendOptions, openOldBackend } from "../session/old-backend.ts";
import { loadProject, type Project } from "../session/project.ts";
import { detectFor, isEmpty } from "../session/require-adopted.ts";
import { openReader, openWriter, type StoreOptions } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";

export interface FreshOptions extends StoreOptions, OldBackendOptions {
  /** Although a state with objects was found. */
  readonly force: boolean;
  /** Name of the stack, as the answer to the question of `force`. */
  readonly confirm?: string;
  readonly json: boolean;
}

const READ_MS = 15_000;

/** Records that there is nothing to adopt, so that the stack may begin empty. */
export async function adoptFresh(
  options: FreshOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(context);
  const detection = detectFor(project, options, context);
  const name = stackName(context, options);
  const reader = await openReader(context, options);
  try {
    const origin = reader?.stack?.adoption;
    if (origin?.kind === "state" && !origin.handedBack) {
      throw new CommandError(`The stack "${name}" has adopted a state: ${origin.place}.`, {
        advice:
          "--fresh would forget where it came from. Give it back first: stackwright hand-back",
      });
    }
    if (!(await isEmpty(reader, context))) {
      throw new CommandError(`The stack "${name}" has objects; --fresh is for an empty stack.`, {
        advice: "Nothing has to be recorded for it: plans use the objects that it has.",
      });
    }
  } finally {
    await reader?.[Symbol.asyncDispose]();
  }
  // A file that cannot be read as a state may hold one: encrypted, damaged, or adopted by another stack.
  const detected = detection.evidence.find(
    ({ verdict, kind, objects }) =>
      kind === "state" && (objects === undefined || (verdict === "certain" && objects > 0)),
  );
  const isElsewhere = detection.evidence.some(({ kind }) => kind === "backend");
  const found =
    detected?.text ?? (isElsewhere ? await stateWithObjects(project, options, context) : undefined);
  if (found !== undefined) await confirmForce(found, name, options, context);
  await using writer = await openWriter(context, options);
  await writer.stacks.recordOrigin(writer.project, name, {
    kind: "fresh",
    timeMs: Date.now(),
    actor: writer.newRun().cause,
    evidence: detection.evidence.map(({ text }) => text),
    forced: found !== undefined,
  });
  if (options.json) {
    const evidence = detection.evidence.map(({ path, objects, ...rest }) => ({
      ...rest,
      ...(path !== undefined && { path }),
      ...(objects !== undefined && { objects }),
    }));
    const report = { stack: name, state: "fresh", verdict: detection.verdict, evidence };
    terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  } else terminal.write(`Recorded: the stack "${name}" begins without a former state.\n`);
  return EXIT.ok;
}

/** What a backend says about a state with objects; undefined where it has none. A backend that does not answer is a warning. */
async function stateWithObjects(
  project: Project,
  options: FreshOptions,
  context: CommandContext,
): Promise<string | undefined> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(READ_MS)]);
  let place = "";
  let bytes: Uint8Array | undefined;
  try {
    await using backend = await openOldBackend(project, options, context);
    const workspace = selectedWorkspace(context)?.name ?? "default";
    place = backend.place(workspace);
    bytes = await backend.read(workspace, { signal });
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (isUnreadable(error)) return `${place}: a state that is not readable (${messageOf(error)})`;
    context.terminal.writeError(`Warning: the backend was not read: ${messageOf(error)}\n`);
    return undefined;
  }
  if (bytes === undefined) return undefined;
  try {
    const { resources } = parseStateFile(Buffer.from(bytes).toString("utf8"));
    const objects = resources.reduce((sum, { instances }) => sum + instances.length, 0);
    return objects === 0 ? undefined : `${place}: ${objects} objects`;
  } catch (error) {
    return `${place}: a state that is not readable (${messageOf(error)})`;
  }
}

/** Whether there is a state that cannot be read: it may hold anything. */
function isUnreadable(error: unknown): boolean {
  return error instanceof TfstateError && UNREADABLE.has(error.code);
}

const UNREADABLE: ReadonlySet<string> = new Set<TfstateErrorCode>([
  "TFSTATE_FILE_INVALID",
  "TFSTATE_STATE_ENCRYPTED",
  "TFSTATE_STATE_NOT_ENCRYPTED",
  "TFSTATE_ENCRYPTION_INVALID",
  "TFSTATE_ENCRYPTION_UNSUPPORTED",
  "TFSTATE_BACKEND_DIGEST",
]);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function confirmForce(
  found: string,
  name: string,
  options: FreshOptions,
  { terminal, signal }: CommandContext,
): Promise<void> {
  if (!options.force) {
    throw new CommandError(`A state that may have objects was found: ${found}.`, {
      advice:
        "A stack that begins without it creates these objects a second time. If that is what you want: stackwright adopt --fresh --force",
    });
  }
  let answer = options.confirm;
  if (answer === undefined && terminal.interactive && !options.json) {
    const question = `${found}\nThis state is left out, and its objects would be created a second time. Enter the name of the stack to confirm: `;
    answer = await terminal.ask(question, { signal });
  }
  if (answer === undefined) {
    throw new CommandError("--force needs a confirmation.", {
      advice: `Run it in a terminal, or with --confirm ${name}`,
    });
  }
  if (answer.trim() !== name) {
    throw new CommandError(`"${answer.trim()}" is not the name of the stack "${name}".`);
  }
}
