import type {
  QueuedRun,
  StackStatus,
  TopicObjects,
  WatchedReaction,
  WatchedResource,
  WatchedRun,
  WatchedVersion,
} from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { driftText } from "../runs/drift-text.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { stackPlaceOf } from "../runs/run-place.ts";
import { printable } from "../terminal/printable.ts";

/** What can be followed. */
type Topic = "stacks" | "runs" | "queue" | "reactions" | "registry" | "resources";

/** Options of the command that follows a topic. */
export interface WatchOptions {
  readonly server?: string;
  readonly topic: Topic;
  readonly project?: string;
  /** `STACK` or `PROJECT/STACK`, of the topic `resources`. */
  readonly stack?: string;
  readonly once: boolean;
  readonly json: boolean;
}

/**
 * Writes the objects of a topic of a server, and then each change until the signal: a line for an object, as text or as JSON with
 * `type` set or delete.
 */
export async function watch(options: WatchOptions, context: CommandContext): Promise<ExitCode> {
  const { topic, project } = options;
  if (options.stack !== undefined && topic !== "resources") {
    throw new CommandError(`The topic ${topic} is not of one stack.`, {
      advice: "Use --stack with --topic resources.",
    });
  }
  switch (topic) {
    case "stacks":
      return follow(options, context, {
        topic,
        nothing: "There are no stacks that this token may see.",
        nameOf: ({ project: inProject, name }) => `${inProject}/${name}`,
        textOf: stackText,
        isWanted: (stack) => project === undefined || stack.project === project,
      });
    case "runs":
      return follow(options, context, {
        topic,
        nothing: "There are no runs that this token may see.",
        nameOf: runName,
        textOf: runText,
        isWanted: (run) => project === undefined || run.project === project,
      });
    case "queue":
      return follow(options, context, {
        topic,
        nothing: "No run has a stack or waits for one.",
        nameOf: runName,
        textOf: queueText,
        isWanted: (run) => project === undefined || run.project === project,
      });
    case "reactions":
      return follow(options, context, {
        topic,
        nothing:
          "No stack that this token may see has a trigger, a schedule, checks for drift or plans for providers.",
        nameOf: ({ project: inProject, stack, on, id }) => `${inProject}/${stack} on ${on} ${id}`,
        textOf: reactionText,
        isWanted: (reaction) => project === undefined || reaction.project === project,
      });
    case "registry":
      return follow(options, context, {
        topic,
        nothing: "The registry has no versions of private providers.",
        nameOf: ({ provider, version }) => `${provider} ${version}`,
        textOf: versionText,
        // Providers belong to no project.
        isWanted: () => true,
      });
    case "resources": {
      const place = stackPlaceOf(options, context);
      return follow(options, context, {
        topic: `resources:${place.project}/${place.stack}`,
        nothing: `There are no resources of ${place.project}/${place.stack} that this token may see.`,
        nameOf: ({ address, deposed }) =>
          deposed === undefined ? address : `${address} (deposed ${deposed})`,
        textOf: resourceText,
        isWanted: () => true,
      });
    }
    default:
      return topic satisfies never;
  }
}

interface Rendering<Name extends keyof TopicObjects> {
  readonly topic: Name;
  /** Said where there is none of it. */
  readonly nothing: string;
  readonly nameOf: (object: TopicObjects[Name]) => string;
  readonly textOf: (object: TopicObjects[Name]) => string;
  readonly isWanted: (object: TopicObjects[Name]) => boolean;
}

async function follow<Name extends keyof TopicObjects>(
  options: WatchOptions,
  context: CommandContext,
  { topic, nothing, nameOf, textOf, isWanted }: Rendering<Name>,
): Promise<ExitCode> {
  type Watched = TopicObjects[Name];
  const { terminal, signal } = context;
  const client = await openServer(context, options.server);
  const lineOf = (type: "set" | "delete", object: Watched): string => {
    if (options.json) return `${JSON.stringify({ type, ...object })}\n`;
    return printable(`${nameOf(object)}: ${type === "delete" ? "deleted" : textOf(object)}`) + "\n";
  };
  const known = new Map<string, { readonly object: Watched; readonly line: string }>();
  const remove = (id: string): void => {
    const found = known.get(id);
    if (found === undefined) return;
    known.delete(id);
    terminal.write(lineOf("delete", found.object));
  };
  const write = async (): Promise<void> => {
    for await (const change of client.watchTopics([topic], { signal })) {
      const set = change.set.filter(isWanted);
      if (change.type === "snapshot") {
        const left = new Set(set.map(({ id }) => id));
        for (const id of known.keys()) if (!left.has(id)) remove(id);
      }
      for (const object of set.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
        const line = lineOf("set", object);
        // A snapshot after a pause has what was written already, and not all that changes is in a line.
        if (known.get(object.id)?.line !== line) terminal.write(line);
        known.set(object.id, { object, line });
      }
      for (const id of change.delete) remove(id);
      if (options.once) break;
    }
  };
  return withServerErrors(client.server, async () => {
    try {
      await write();
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
      // Nothing was to be done that is not done: how a user ends it.
      return EXIT.interrupted;
    }
    if (options.once && known.size === 0 && !options.json) {
      terminal.writeError(`${nothing}\n`);
    }
    return EXIT.ok;
  });
}

function stackText({
  current,
  waiting,
  newest,
  lock,
  drift,
  outdated,
  behind = [],
}: StackStatus): string {
  const last = newest === undefined ? "no runs" : `idle, last ${phaseText(newest)}`;
  return [
    current === undefined ? last : phaseText(current),
    ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ...(lock === undefined ? [] : [`locked by ${lock.actor}: ${lock.reason}`]),
    ...(drift === undefined || drift.changed + drift.deleted === 0 ? [] : [driftText(drift)]),
    ...(outdated.length > 0 ? [`outdated by ${outdated.join(", ")}`] : []),
    ...(behind.length > 0 ? [`behind ${behind.join(", ")}, outdated too`] : []),
  ].join(", ");
}

function phaseText({ number, phase }: NonNullable<StackStatus["current"]>): string {
  return `${words(phase)} (${number === 0 ? "a run of a command" : `run ${number}`})`;
}

function runText({ phase, mode, cause }: WatchedRun): string {
  return [words(phase), words(mode), ...(cause === "" ? [] : [cause])].join(", ");
}

function queueText({ position, phase }: QueuedRun): string {
  return position === 0 ? `has the stack, ${words(phase)}` : `waits at place ${position}`;
}

function reactionText({ source, paused, due, ...reaction }: WatchedReaction): string {
  const { next_at: nextAt, last_run: lastRun, problem } = reaction;
  const states = [
    ...(source === undefined ? [] : [`follows ${source}`]),
    ...(paused ? ["paused"] : []),
    ...(due ? ["due"] : []),
    ...(nextAt === undefined || paused ? [] : [`next at ${nextAt}`]),
    lastRun === undefined ? "no run yet" : `last run ${lastRun}`,
    ...(problem === undefined ? [] : [problem]),
  ];
  return states.join(", ");
}

function versionText({ healthy, problem }: WatchedVersion): string {
  if (healthy === undefined) return "not checked yet";
  return healthy ? "healthy" : `not healthy: ${problem ?? "the function does not answer"}`;
}

function resourceText({ phase, type, data, provider, ...rest }: WatchedResource): string {
  const version = rest.provider_version === "" ? "" : ` ${rest.provider_version}`;
  return [phase, data ? `reads ${type}` : type, `${provider}${version}`].join(", ");
}

function runName({ project, stack, number, id }: WatchedRun | QueuedRun): string {
  return `${project}/${stack} ${number === 0 ? `run ${id}` : `run ${number}`}`;
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}
