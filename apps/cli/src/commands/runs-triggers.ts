import type { Trigger } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that creates a trigger. */
export interface TriggerOptions extends ServerStackOptions {
  readonly planOnly: boolean;
  readonly refreshOnly: boolean;
  readonly autoApprove: boolean;
  readonly message?: string;
  /** Names of the outputs whose changes count; empty: all. */
  readonly output: readonly string[];
}

/** Lists the triggers of a stack. */
export async function runsTriggers(
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const { triggers } = (await client.listTriggers(place, { signal: context.signal })).data;
    const text = triggers.map((one) => `${textOf(one)}\n`).join("");
    const none = `No other stack triggers runs of ${place.project}/${place.stack}.\n`;
    const json = `${JSON.stringify(triggers, undefined, 2)}\n`;
    context.terminal.write(options.json ? json : text === "" ? none : text);
    return EXIT.ok;
  });
}

/** Creates a trigger of a stack: `producer` is `STACK` of the same project, or `PROJECT/STACK`. */
export async function runsTrigger(
  producer: string,
  options: TriggerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { planOnly, refreshOnly, autoApprove, message, output: outputs } = options;
  if (planOnly && refreshOnly) {
    throw new CommandError("A run has one of --plan-only and --refresh-only.");
  }
  const [, inProject, stack = producer] = /^([^/]+)\/([^/]+)$/.exec(producer) ?? [];
  if (stack === "" || stack.includes("/")) {
    throw new CommandError(`"${producer}" does not name a stack.`, {
      advice: "Name the stack whose outputs are followed: STACK or PROJECT/STACK.",
    });
  }
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const body = {
      producer: { project: inProject ?? place.project, stack },
      mode: planOnly ? "plan_only" : refreshOnly ? "refresh_only" : "apply",
      ...(autoApprove && { auto_apply: true }),
      ...(message !== undefined && { message }),
      ...(outputs.length > 0 && { outputs: [...outputs] }),
    } as const;
    const { data } = await client.createTrigger({ ...place, body }, { signal: context.signal });
    writeResult(context, options, data, textOf(data));
    return EXIT.ok;
  });
}

/** Pauses a trigger, or lets it continue: then what changed meanwhile requests one run. */
export async function runsPauseTrigger(
  text: string,
  paused: boolean,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const { id } = await findTrigger(found, text);
    const at = { ...place, trigger: id, ifMatch: "*", body: { paused } };
    const { data } = await client.changeTrigger(at, { signal: context.signal });
    writeResult(context, options, data, textOf(data));
    return EXIT.ok;
  });
}

/** Deletes a trigger. Its runs stay. */
export async function runsUntrigger(
  text: string,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const { id } = await findTrigger(found, text);
    await client.deleteTrigger({ ...place, trigger: id, ifMatch: "*" }, { signal: context.signal });
    writeResult(context, options, {}, `Deleted the trigger ${id}.`);
    return EXIT.ok;
  });
}

/** The trigger whose ID ends with a text, or that follows the stack of this name. */
async function findTrigger(
  { client, place, context }: ServerStack,
  text: string,
): Promise<Trigger> {
  const { triggers } = (await client.listTriggers(place, { signal: context.signal })).data;
  const found = triggers.filter(
    ({ id, producer: { project, stack } }) =>
      text !== "" &&
      (id.endsWith(text.toUpperCase()) || text === stack || text === `${project}/${stack}`),
  );
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const what = found.length === 0 ? "no trigger" : "more than one trigger";
  throw new CommandError(`${place.project}/${place.stack} has ${what} "${text}".`, {
    advice: "Use the ID or the stack that stackwright runs triggers shows, or the end of the ID.",
  });
}

function textOf(trigger: Trigger): string {
  const { id, producer, mode, paused, message } = trigger;
  const parts = [
    `${trigger.outputs === undefined ? "outputs" : trigger.outputs.join(", ")} of ${producer.project}/${producer.stack}`,
    mode.replace("_", " "),
    ...(trigger.auto_apply === true ? ["applied without an approval"] : []),
    ...(message === "" ? [] : [message]),
    ...(paused ? ["paused"] : []),
    ...(trigger.last_run === undefined ? [] : [`last run ${trigger.last_run}`]),
    ...(trigger.last_problem === undefined
      ? []
      : [`left out at ${trigger.last_at}: ${trigger.last_problem}`]),
  ];
  return printable(`${id}: ${parts.join(", ")}`);
}
