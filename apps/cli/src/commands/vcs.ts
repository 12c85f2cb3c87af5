import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isClientError, type VcsConnection } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of the command that connects a repository. */
export interface VcsConnectOptions extends ServerProjectOptions {
  readonly kind?: string;
  readonly repositoryUrl?: string;
  readonly apiUrl?: string;
  readonly repository?: string;
  readonly branch?: string;
  readonly tokenFile?: string;
  readonly reportUrl?: string;
  readonly apply?: string;
  /** `STACK=FOLDER` each. */
  readonly attach: readonly string[];
  readonly applier: readonly string[];
  readonly reviews?: string;
}

/** Connects a Git repository, or changes what the options name of a connection. */
export async function vcsConnect(
  name: string,
  options: VcsConnectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const settings = await settingsOf(options, context);
  const kind = oneOf(options.kind, ["generic", "gitea", "github"] as const, "--kind");
  const { client, project } = await openServerProject(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const at = { project, connection: name, ifMatch: "*", body: settings };
    const changed = await client.changeVcsConnection(at, { signal }).catch((error: unknown) => {
      if (!isClientError(error, "not_found")) throw error;
      return undefined;
    });
    if (changed !== undefined) {
      if (kind !== undefined && kind !== changed.data.kind) {
        throw new CommandError(`The connection "${name}" is of the kind ${changed.data.kind}.`, {
          advice: "Disconnect it, and connect it again.",
        });
      }
      writeResult(context, options, changed.data, `Changed ${lineOf(changed.data)}`);
      return EXIT.ok;
    }
    const { repository_url: url } = settings;
    if (kind === undefined || url === undefined) {
      throw new CommandError(`The project "${project}" has no connection "${name}".`, {
        advice: "A new one needs --kind and --repository-url.",
      });
    }
    const body = { ...settings, name, kind, repository_url: url };
    const { data } = await client.createVcsConnection({ project, body }, { signal });
    const address = new URL(data.webhook_path, client.server);
    const text = [
      `Connected ${lineOf(data)}`,
      `Webhook: ${address.href}`,
      `Secret:  ${data.webhook_secret}`,
      "The secret is not shown again.",
    ];
    writeResult(context, options, data, text.join("\n"));
    return EXIT.ok;
  });
}

/** Lists the connections of a project. */
export async function vcsList(
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const { signal } = context;
    const { connections } = (await client.listVcsConnections({ project }, { signal })).data;
    const none = `The project ${project} has no connected repositories.`;
    const text = connections.length === 0 ? none : connections.map(lineOf).join("\n");
    writeResult(context, options, connections, text);
    return EXIT.ok;
  });
}

/** Deletes a connection. Its runs stay. */
export async function vcsDisconnect(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, connection: name, ifMatch: "*" };
    await client.deleteVcsConnection(at, { signal: context.signal });
    writeResult(context, options, {}, `Disconnected ${name}.`);
    return EXIT.ok;
  });
}

/** Compares the branch of a connection with what was planned, as a delivery does. */
export async function vcsSync(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, connection: name };
    const { data } = await client.syncVcsConnection(at, { signal: context.signal });
    writeResult(context, options, data, `The branch of ${name} is compared.`);
    return EXIT.ok;
  });
}

/** Lists what is left to do for a connection, and what it fails for. */
export async function vcsTasks(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const at = { project, connection: name };
    const { tasks } = (await client.listVcsTasks(at, { signal: context.signal })).data;
    const lines = tasks.map(({ pull_request: pull, check, problem, next_at: next }) => {
      const ofBranch = check === true ? "the look for lost deliveries" : "the branch";
      const what = pull === undefined ? ofBranch : `pull request ${pull}`;
      return printable(`${what}: ${problem ?? "in progress"}, again at ${next}`);
    });
    const text = lines.length === 0 ? `Nothing is left to do for ${name}.` : lines.join("\n");
    writeResult(context, options, tasks, text);
    return EXIT.ok;
  });
}

/** Lists the pull requests of a connection, or shows the comment of one. */
export async function vcsPullRequests(
  name: string,
  id: string | undefined,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const at = { project, connection: name };
    if (id !== undefined) {
      const one = { ...at, pull_request: id };
      const { data } = await client.showPullRequest(one, { signal });
      const text = options.json
        ? ""
        : (await client.showPullRequestComment(one, { signal })).data.trimEnd();
      writeResult(context, options, data, text);
      return EXIT.ok;
    }
    const { pull_requests: pulls } = (await client.listPullRequests(at, { signal })).data;
    const lines = pulls.map((pull) => {
      const stacks = pull.plans.map(({ stack }) => stack).join(", ");
      const what = pull.fork ? "from a fork" : pull.conflicts ? "conflicts" : stacks || "no stack";
      return printable(`${pull.id}: ${pull.state}, ${what}: ${pull.title} (${pull.author})`);
    });
    const text = lines.length === 0 ? `${name} has no pull requests.` : lines.join("\n");
    writeResult(context, options, pulls, text);
    return EXIT.ok;
  });
}

async function settingsOf(options: VcsConnectOptions, { directory }: CommandContext) {
  const { repositoryUrl, apiUrl, repository, branch, reportUrl, tokenFile, attach } = options;
  const apply = oneOf(options.apply, ["manual", "on_merge", "on_comment"] as const, "--apply");
  const reviews = options.reviews === undefined ? undefined : Number(options.reviews);
  if (reviews !== undefined && !Number.isInteger(reviews)) {
    throw new CommandError(`"${options.reviews}" is not a number of reviews.`);
  }
  const token =
    tokenFile === undefined
      ? undefined
      : (
          await readFile(resolve(directory, tokenFile), "utf8").catch((cause: unknown) => {
            throw new CommandError(`The file "${tokenFile}" cannot be read.`, { cause });
          })
        ).trim();
  return {
    ...(repositoryUrl !== undefined && { repository_url: repositoryUrl }),
    ...(apiUrl !== undefined && { api_url: apiUrl }),
    ...(repository !== undefined && { repository }),
    ...(branch !== undefined && { branch }),
    ...(reportUrl !== undefined && { report_url: reportUrl }),
    ...(token !== undefined && { token }),
    ...(apply !== undefined && { apply }),
    ...(attach.length > 0 && { stacks: attach.map(attachedStack) }),
    ...(options.applier.length > 0 && { appliers: [...options.applier] }),
    ...(reviews !== undefined && { required_reviews: reviews }),
  };
}

function attachedStack(text: string): { readonly stack: string; readonly directory: string } {
  const [, stack, directory] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (stack !== undefined && directory !== undefined) return { stack, directory };
  throw new CommandError(`"${text}" is not STACK=FOLDER.`, {
    advice:
      "For example --attach network=stacks/network; --attach network= is the whole repository.",
  });
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

function lineOf(connection: VcsConnection): string {
  const { name, kind, branch, apply, stacks } = connection;
  const attached = stacks.map(({ stack, directory }) => `${stack}=${directory}`).join(" ");
  const parts = [`${name}: ${kind} ${connection.repository_url}`, branch, apply, attached];
  return printable(parts.filter((part) => part !== "").join(", "));
}
