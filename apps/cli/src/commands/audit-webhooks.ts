import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type AuditWebhook, type ClientError, isClientError } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

export interface AuditWebhookOptions {
  readonly server?: string;
  readonly json: boolean;
}

/** Options of the command that creates or changes a webhook. */
export interface AuditWebhookSettings extends AuditWebhookOptions {
  readonly url?: string;
  /** The file with the address. */
  readonly urlFile?: string;
  /** Sequence of the last entry that the receiver has. */
  readonly after?: string;
  readonly pause: boolean;
  readonly resume: boolean;
  readonly newSecret: boolean;
}

/** Lists the webhooks that are sent the audit trail of the account. */
export async function auditWebhooksList(
  options: AuditWebhookOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, options.server);
  return withServerErrors(client.server, async () => {
    const { signal } = context;
    const { webhooks } = (await client.listAuditWebhooks({}, { signal })).data;
    const none = "The audit trail is sent nowhere.";
    const text = webhooks.length === 0 ? none : webhooks.map(lineOf).join("\n");
    writeResult(context, options, webhooks, text);
    return EXIT.ok;
  });
}

/** Creates a webhook, or changes what the options name of one. */
export async function auditWebhooksSet(
  name: string,
  options: AuditWebhookSettings,
  context: CommandContext,
): Promise<ExitCode> {
  const { pause, resume, newSecret } = options;
  if (pause && resume) throw new CommandError("Either --pause or --resume is given.");
  const url = await urlOf(options, context);
  const after = sequenceOf(options.after);
  const client = await openServer(context, options.server);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const settings = {
      ...(url !== undefined && { url }),
      ...((pause || resume) && { paused: pause }),
    };
    const change = { ...settings, ...(newSecret && { new_secret: true as const }) };
    const changed =
      after === undefined
        ? await unlessCode("not_found", async () =>
            client.changeAuditWebhook({ webhook: name, ifMatch: "*", body: change }, { signal }),
          )
        : undefined;
    if (changed !== undefined) {
      writeResult(context, options, changed.data, withSecret("Changed", changed.data));
      return EXIT.ok;
    }
    if (url === undefined) {
      if (after !== undefined) {
        const known = await unlessCode("not_found", async () =>
          client.showAuditWebhook({ webhook: name }, { signal }),
        );
        if (known !== undefined) throw isKnown();
      }
      throw new CommandError(`The account has no audit webhook "${name}".`, {
        advice: "A new one needs --url or --url-file.",
      });
    }
    const body = { ...settings, name, url, ...(after !== undefined && { after }) };
    const create = async () => client.createAuditWebhook({ body }, { signal });
    const made = after === undefined ? await create() : await unlessCode("name_taken", create);
    if (made === undefined) throw isKnown();
    writeResult(context, options, made.data, withSecret("Created", made.data));
    return EXIT.ok;
  });
}

/** Deletes a webhook. */
export async function auditWebhooksDelete(
  name: string,
  options: AuditWebhookOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, options.server);
  return withServerErrors(client.server, async () => {
    const at = { webhook: name, ifMatch: "*" };
    await client.deleteAuditWebhook(at, { signal: context.signal });
    writeResult(context, options, {}, `Deleted the audit webhook ${printable(name)}.`);
    return EXIT.ok;
  });
}

/** Sends a test to a webhook. Fails where it was not delivered. */
export async function auditWebhooksTest(
  name: string,
  options: AuditWebhookOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, options.server);
  return withServerErrors(client.server, async () => {
    const { data } = await client.testAuditWebhook({ webhook: name }, { signal: context.signal });
    const text = data.delivered ? "The test was delivered." : `Not delivered: ${data.problem}`;
    writeResult(context, options, data, printable(text));
    return data.delivered ? EXIT.ok : EXIT.failed;
  });
}

async function urlOf(
  { url, urlFile }: Pick<AuditWebhookSettings, "url" | "urlFile">,
  { directory }: CommandContext,
): Promise<string | undefined> {
  if (urlFile === undefined) return url;
  if (url !== undefined) throw new CommandError("The address is given by --url or by --url-file.");
  const text = await readFile(resolve(directory, urlFile), "utf8").catch((cause: unknown) => {
    throw new CommandError(`The file "${urlFile}" cannot be read.`, { cause });
  });
  return text.trim();
}

function sequenceOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const sequence = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(sequence)) return sequence;
  throw new CommandError(`"${text}" is not the sequence of an entry.`);
}

/** What comes of a request; undefined for one error. */
async function unlessCode<T>(
  code: ClientError["code"],
  task: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await task();
  } catch (error) {
    if (!isClientError(error, code)) throw error;
    return undefined;
  }
}

function isKnown(): CommandError {
  return new CommandError("--after is for a new webhook.", {
    advice: "Delete the webhook, and create it again.",
  });
}

function withSecret(what: string, webhook: AuditWebhook): string {
  const { secret } = webhook;
  const lines = [`${what} ${lineOf(webhook)}`];
  if (secret !== undefined) lines.push(`Secret: ${secret}`, "The secret is not shown again.");
  return lines.join("\n");
}

function lineOf(webhook: AuditWebhook): string {
  const { name, url, paused, after, attempts, problem, next_at: next } = webhook;
  const parts = [
    `${name}: ${url}`,
    `has entries to ${after}`,
    paused ? "paused" : "",
    attempts === 0 ? "" : `${attempts} attempts failed: ${problem ?? ""}`,
    attempts === 0 || next === undefined ? "" : `again at ${next}`,
  ];
  return printable(parts.filter((part) => part !== "").join(", "));
}
