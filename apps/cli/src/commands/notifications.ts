import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  isClientError,
  type NotificationDelivery,
  type NotificationDestination,
} from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that creates or changes a destination. */
export interface NotificationOptions extends ServerProjectOptions {
  readonly kind?: string;
  readonly url?: string;
  readonly urlFile?: string;
  readonly from?: string;
  readonly to: readonly string[];
  readonly event: readonly string[];
  readonly for: readonly string[];
  readonly pause: boolean;
  readonly resume: boolean;
  readonly newSecret: boolean;
}

const EVENTS = [
  "run.needs_approval",
  "run.applied",
  "run.failed",
  "run.policy_failed",
  "run.stuck",
  "run.approval_expired",
  "drift.found",
  "stack.locked_long",
  "provider.changed",
] as const satisfies readonly NotificationDestination["events"][number][];

/** Lists the destinations of the events of a project. */
export async function notificationsList(
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const { signal } = context;
    const { destinations } = (await client.listNotificationDestinations({ project }, { signal }))
      .data;
    const none = `No notifications of the project ${project} are sent.`;
    const text = destinations.length === 0 ? none : destinations.map(lineOf).join("\n");
    writeResult(context, options, destinations, text);
    return EXIT.ok;
  });
}

/** Creates a destination, or changes what the options name of one. */
export async function notificationsSet(
  name: string,
  options: NotificationOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const kind = oneOf(options.kind, ["webhook", "slack", "email"] as const, "--kind");
  const settings = await settingsOf(options, context);
  const { client, project } = await openServerProject(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const change = { ...settings, ...(options.newSecret && { new_secret: true as const }) };
    const at = { project, destination: name, ifMatch: "*", body: change };
    const changed = await client
      .changeNotificationDestination(at, { signal })
      .catch((error: unknown) => {
        if (!isClientError(error, "not_found")) throw error;
        return undefined;
      });
    if (changed !== undefined) {
      if (kind !== undefined && kind !== changed.data.kind) {
        throw new CommandError(`The destination "${name}" is of the kind ${changed.data.kind}.`, {
          advice: "Delete it, and create it again.",
        });
      }
      writeResult(context, options, changed.data, withSecret("Changed", changed.data));
      return EXIT.ok;
    }
    const { url } = settings;
    if (url === undefined || kind === undefined) {
      throw new CommandError(`The project "${project}" has no destination "${name}".`, {
        advice: "A new one needs --kind, and --url or --url-file.",
      });
    }
    const body = { ...settings, name, kind, url };
    const { data } = await client.createNotificationDestination({ project, body }, { signal });
    writeResult(context, options, data, withSecret("Created", data));
    return EXIT.ok;
  });
}

/** Deletes a destination. */
export async function notificationsDelete(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, destination: name, ifMatch: "*" };
    await client.deleteNotificationDestination(at, { signal: context.signal });
    writeResult(context, options, {}, `Deleted the destination ${printable(name)}.`);
    return EXIT.ok;
  });
}

/** Sends a test to a destination. Fails where it was not delivered. */
export async function notificationsTest(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, destination: name };
    const { data } = await client.testNotificationDestination(at, { signal: context.signal });
    writeResult(context, options, data, deliveryLine(data));
    return data.state === "delivered" ? EXIT.ok : EXIT.failed;
  });
}

/** Lists what was sent to a destination, and what waits. */
export async function notificationsDeliveries(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, destination: name };
    const { data } = await client.listNotificationDeliveries(at, { signal: context.signal });
    const { deliveries } = data;
    const none = `Nothing was sent to ${printable(name)}.`;
    const text = deliveries.length === 0 ? none : deliveries.map(deliveryLine).join("\n");
    writeResult(context, options, deliveries, text);
    return EXIT.ok;
  });
}

/** Sends an event to a destination again. */
export async function notificationsRedeliver(
  name: string,
  delivery: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, destination: name, delivery };
    await client.redeliverNotification(at, { signal: context.signal });
    writeResult(context, options, {}, `${printable(delivery)} is sent again.`);
    return EXIT.ok;
  });
}

async function settingsOf(options: NotificationOptions, { directory }: CommandContext) {
  const { urlFile, event, pause, resume } = options;
  if (options.url !== undefined && urlFile !== undefined) {
    throw new CommandError("The address is given by --url or by --url-file.");
  }
  if (pause && resume) throw new CommandError("Either --pause or --resume is given.");
  const url =
    urlFile === undefined
      ? options.url
      : (
          await readFile(resolve(directory, urlFile), "utf8").catch((cause: unknown) => {
            throw new CommandError(`The file "${urlFile}" cannot be read.`, { cause });
          })
        ).trim();
  const events = event.flatMap((one) => oneOf(one, EVENTS, "--event") ?? []);
  return {
    ...(url !== undefined && { url }),
    ...(options.from !== undefined && { from: options.from }),
    ...(options.to.length > 0 && { to: [...options.to] }),
    ...(events.length > 0 && { events }),
    ...(options.for.length > 0 && { stacks: [...options.for] }),
    ...((pause || resume) && { paused: pause }),
  };
}

function oneOf<T extends string>(
  text: string | undefined,
  known: readonly T[],
  option: string,
): T | undefined {
  if (text === undefined) return undefined;
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw new CommandError(`"${text}" is not valid for ${option}.`, {
    advice: `It is one of ${known.join(", ")}.`,
  });
}

function withSecret(what: string, destination: NotificationDestination): string {
  const { secret } = destination;
  const lines = [`${what} ${lineOf(destination)}`];
  if (secret !== undefined) lines.push(`Secret: ${secret}`, "The secret is not shown again.");
  return lines.join("\n");
}

function lineOf(destination: NotificationDestination): string {
  const { name, kind, url, to, events, stacks, paused } = destination;
  const parts = [
    `${name}: ${kind} ${url}`,
    to === undefined ? "" : `to ${to.join(" ")}`,
    events.length === EVENTS.length ? "all events" : events.join(" "),
    stacks.length === 0 ? "" : `stacks ${stacks.join(" ")}`,
    paused ? "paused" : "",
  ];
  return printable(parts.filter((part) => part !== "").join(", "));
}

function deliveryLine(delivery: NotificationDelivery): string {
  const { id, event, state, attempts, problem, next_at: next } = delivery;
  const tried = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  const parts = [
    `${id}: ${event}, ${state}, ${tried}`,
    problem ?? "",
    next === undefined ? "" : `again at ${next}`,
  ];
  return printable(parts.filter((part) => part !== "").join(", "));
}
