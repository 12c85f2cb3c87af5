import type { StackOrigin } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { loadProject } from "../session/project.ts";
import { detectFor, isEmpty, notAdopted } from "../session/require-adopted.ts";
import { openReader, openWriter, type Session, type StoreOptions } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";

export interface AdoptOptions extends StoreOptions {
  /** Record that there is nothing to adopt. */
  readonly fresh: boolean;
  /** With `fresh`: although a state with objects was found. */
  readonly force: boolean;
  /** Name of the stack, as the answer to the question of `force`. */
  readonly confirm?: string;
  readonly json: boolean;
}

/**
 * Shows which Terraform state the configuration has and whether the stack adopted it. With `--fresh` it records that there
 * is nothing to adopt, so that the stack may begin empty.
 */
export async function adopt(options: AdoptOptions, context: CommandContext): Promise<ExitCode> {
  if (options.force && !options.fresh) throw new CommandError("--force is for --fresh alone.");
  const { terminal } = context;
  const project = await loadProject(context);
  const detection = detectFor(project, options, context);
  const name = stackName(context, options);
  const session = await openReader(context, options);
  let origin: StackOrigin | undefined;
  let empty: boolean;
  try {
    origin = session?.stack?.adoption;
    empty = await isEmpty(session, context);
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
  const show = (state: "adopted" | "fresh" | "in-use" | "not-adopted" | "nothing"): void => {
    if (!options.json) return;
    const evidence = detection.evidence.map(({ path, objects, ...rest }) => ({
      ...rest,
      ...(path !== undefined && { path }),
      ...(objects !== undefined && { objects }),
    }));
    const report = { stack: name, state, verdict: detection.verdict, evidence };
    terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  };
  const say = (text: string): void => {
    if (!options.json) terminal.write(`${text}\n`);
  };

  if (options.fresh) {
    if (!empty) {
      throw new CommandError(`The stack "${name}" has objects; --fresh is for an empty stack.`, {
        advice: "Nothing has to be recorded for it: plans work on what it has.",
      });
    }
    const objects = detection.evidence.find(
      ({ verdict, kind, objects: count }) =>
        kind === "state" && verdict === "certain" && (count ?? 0) > 0,
    );
    if (objects !== undefined) await confirmForce(objects.text, name, options, context);
    await using writer = await openWriter(context, options);
    await writer.stacks.recordOrigin(writer.project, name, {
      kind: "fresh",
      timeMs: Date.now(),
      actor: actorOf(writer),
      evidence: detection.evidence.map(({ text }) => text),
      forced: objects !== undefined,
    });
    show("fresh");
    say(`Recorded: the stack "${name}" begins without a former state.`);
    return EXIT.ok;
  }
  if (origin !== undefined) {
    show(origin.kind === "fresh" ? "fresh" : "adopted");
    say(originText(name, origin));
    return EXIT.ok;
  }
  if (detection.verdict === "none") {
    show("nothing");
    say("Nothing to adopt: this configuration has no Terraform state.");
    return EXIT.ok;
  }
  if (!empty) {
    show("in-use");
    say(`Nothing to adopt: the stack "${name}" has objects already.`);
    for (const { text } of detection.evidence) say(`  ${text}`);
    return EXIT.ok;
  }
  show("not-adopted");
  throw notAdopted(detection);
}

async function confirmForce(
  found: string,
  name: string,
  options: AdoptOptions,
  { terminal, signal }: CommandContext,
): Promise<void> {
  if (!options.force) {
    throw new CommandError(`A state with objects was found: ${found}.`, {
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

function originText(name: string, origin: StackOrigin): string {
  const when = new Date(origin.timeMs).toISOString();
  return origin.kind === "fresh"
    ? `The stack "${name}" began without a former state (${origin.actor}, ${when}).`
    : `The stack "${name}" has the state with lineage ${origin.lineage}, serial ${origin.serial} (${origin.actor}, ${when}).`;
}

function actorOf(session: Session): string {
  return session.newRun().cause;
}
