import { type Detection, detectAdoption, type StackOrigin } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { refuseHandedBack } from "./handed-back.ts";
import { type Project, readBackend } from "./project.ts";
import { openReader, type Session, type StoreOptions } from "./session.ts";
import { stackName } from "./stack-name.ts";

/**
 * Refuses to plan on an empty stack whose configuration has a state that another command keeps: everything would be created
 * a second time. `ENGINE_STATE_NOT_ADOPTED`. Nothing is written, and no provider is called before.
 */
export async function requireAdopted(
  project: Project,
  options: StoreOptions,
  context: CommandContext,
): Promise<void> {
  // Such a configuration is refused in any case, and what it says about its backend may be half of it.
  if (hasErrors(project.configuration.diagnostics)) return;
  const detection = detectFor(project, options, context);
  if (detection.verdict === "none") return;
  const session = await openReader(context, options);
  try {
    refuseHandedBack(session?.stack);
    const adoption = session?.stack?.adoption;
    if (adoption !== undefined || !(await isEmpty(session, context))) {
      warnOfUnusedBackend(project, adoption, context);
      return;
    }
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
  throw notAdopted(detection);
}

/**
 * Refuses to show a stack without any revision as empty where another command keeps its state, as a script would take that
 * for true. `ENGINE_STATE_NOT_ADOPTED`. Where there only may be a state, as with a backend that no command was initialised with, it is a warning.
 */
export async function requireAdoptedToRead(
  session: Session | undefined,
  options: StoreOptions,
  context: CommandContext,
): Promise<void> {
  const detection = await detectUnadopted(session, options, context);
  if (detection === undefined) return;
  const error = notAdopted(
    detection,
    "The stack is empty, so there is nothing to read before the state is adopted.",
  );
  if (detection.verdict === "certain") throw error;
  context.terminal.writeError(`Warning: ${error.message}\n`);
}

/** Warns of a state that was not adopted where an answer without it is of use, too, and says what the answer lacks. */
export async function warnOfUnadopted(
  session: Session | undefined,
  options: StoreOptions,
  context: CommandContext,
  lacks: string,
): Promise<void> {
  const detection = await detectUnadopted(session, options, context);
  if (detection === undefined) return;
  const { message, details } = notAdopted(detection, lacks);
  const advice = details.advice === undefined ? "" : `\n\n${details.advice}`;
  context.terminal.writeError(`Warning: ${message}${advice}\n\n`);
}

/** The state of another command that a stack without any revision has beside it. */
async function detectUnadopted(
  session: Session | undefined,
  options: StoreOptions,
  context: CommandContext,
): Promise<Detection | undefined> {
  const { signal, directory, env } = context;
  if (session?.stack !== undefined) {
    if (session.stack.adoption !== undefined) return undefined;
    if ((await session.stateOf(session.stack).head({ signal })).revision > 0n) return undefined;
  }
  const backend = await readBackend(context);
  const stack = stackName(context, options);
  const detection = detectAdoption({ directory, env, backend, stack });
  return detection.verdict === "none" ? undefined : detection;
}

/**
 * Warns of a backend without effect: no state was adopted from it, or the block has changed since. What becomes of one that a state was
 * adopted from is reported once, by the adoption.
 */
function warnOfUnusedBackend(
  { configuration }: Project,
  adoption: StackOrigin | undefined,
  { terminal }: CommandContext,
): void {
  const { backend } = configuration.root.config;
  if (backend === undefined || adoption?.kind === "fresh") return;
  // A file that was named, and what a command has read, may have come from this one.
  const from = adoption?.backend;
  if (from === backend.type || from === "" || from === "command") return;
  const why =
    from === undefined
      ? "No state was adopted from it."
      : `The state was adopted from a backend of the type "${from}".`;
  showDiagnostics(terminal, [
    {
      severity: "warning",
      code: "ENGINE_BACKEND",
      summary: "Backend has no effect",
      detail: `The state is kept in the store of the stack. ${why}`,
      subject: backend.range,
    },
  ]);
}

/** Detects a state of the configuration for the stack of a command. */
export function detectFor(
  { configuration }: Project,
  options: StoreOptions,
  context: CommandContext,
): Detection {
  const { directory, env } = context;
  const { backend } = configuration.root.config;
  return detectAdoption({ directory, env, backend, stack: stackName(context, options) });
}

/** Whether nothing is recorded in the stack of a session. */
export async function isEmpty(
  session: Session | undefined,
  { signal }: Pick<CommandContext, "signal">,
): Promise<boolean> {
  if (session?.stack === undefined) return true;
  const state = session.stateOf(session.stack);
  if ((await state.head({ signal })).revision === 0n) return true;
  return (await state.read({ signal })).objects.size === 0;
}

/** The refusal, with what was detected. */
export function notAdopted(
  { evidence }: Detection,
  consequence = "The stack is empty, so a plan would create every object a second time.",
): EngineError {
  const found = evidence.map(({ text }) => `  ${text}`).join("\n");
  return new EngineError(
    "ENGINE_STATE_NOT_ADOPTED",
    `This configuration has a Terraform state that was not adopted (ENGINE_STATE_NOT_ADOPTED).\n\n${found}\n\n${consequence}`,
    { details: { advice: adoptionAdvice(evidence) } },
  );
}

/** The commands that lead on from a detected state. */
function adoptionAdvice(evidence: Detection["evidence"]): string {
  const adopter = evidence.find((one) => one.adopter !== undefined)?.adopter;
  if (adopter !== undefined) {
    return `Use that stack: --store ${adopter.store} --stack ${adopter.stack}. To move it to this store, hand it back there\n(stackwright hand-back --store ${adopter.store} --stack ${adopter.stack}), and adopt it here.`;
  }
  const file = evidence.find(({ kind, objects }) => kind === "state" && objects !== undefined);
  const remote = evidence.some(({ kind }) => kind === "backend" || kind === "terragrunt");
  const steps = [
    ["stackwright adopt", "plans against it, and adopts it if nothing would change"],
    ["stackwright adopt --dry-run", "only shows what would be adopted"],
    ...(file?.path === undefined || file.path === "terraform.tfstate"
      ? []
      : [[`stackwright adopt ${file.path}`, "adopts this file"]]),
    ...(remote ? [["stackwright adopt --pull", "reads it with the terraform command"]] : []),
    ["stackwright adopt --fresh", "records that there is nothing to adopt"],
  ] as const;
  const width = Math.max(...steps.map(([command]) => command?.length ?? 0));
  return steps.map(([command, what]) => `  ${command?.padEnd(width)}  ${what}`).join("\n");
}
