import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isClientError, type PolicySet } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { verdictLines } from "../render/policy-text.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of all commands about the policy sets of an account. */
export interface PolicySetOptions {
  readonly server?: string;
  readonly json: boolean;
}

/** Options of the command that publishes a policy set. */
export interface PolicyPublishOptions extends PolicySetOptions {
  readonly enforcement?: string;
  readonly overrideRole?: string;
  readonly forProject: readonly string[];
  readonly for: readonly string[];
  readonly forAll: boolean;
  readonly description?: string;
  readonly entrypoint: readonly string[];
  readonly activate: boolean;
  readonly activateVersion?: string;
}

/** Lists the policy sets of the account. */
export async function policyList(
  options: PolicySetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, options.server);
  return withServerErrors(client.server, async () => {
    const { sets } = (await client.listPolicySets({}, { signal: context.signal })).data;
    const lines = sets.map(lineOf);
    writeResult(context, options, sets, lines.length === 0 ? "No policy sets." : lines.join("\n"));
    return EXIT.ok;
  });
}

/** Creates a policy set, or changes what the options name of one, and uploads policies. */
export async function policyPublish(
  name: string,
  file: string | undefined,
  options: PolicyPublishOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const settings = settingsOf(options);
  const content =
    file === undefined
      ? undefined
      : Uint8Array.from(await readNamed(resolve(context.directory, file)));
  const client = await openServer(context, options.server);
  const { signal } = context;
  const { entrypoint, activate, activateVersion } = options;
  return withServerErrors(client.server, async () => {
    const create = async (): Promise<PolicySet> =>
      (await client.createPolicySet({ body: { name, ...settings } }, { signal })).data;
    const change = async (body: object): Promise<PolicySet> =>
      (await client.changePolicySet({ policy_set: name, ifMatch: "*", body }, { signal })).data;
    let set = await change(settings).catch(async (error: unknown) => {
      if (!isClientError(error, "not_found")) throw error;
      return create();
    });
    if (content !== undefined) {
      const upload = {
        policy_set: name,
        body: content,
        ...(entrypoint.length > 0 && { entrypoint: entrypoint.join(",") }),
        activate: activate ? ("true" as const) : ("false" as const),
      };
      set = (await client.uploadPolicies(upload, { signal })).data;
    }
    if (activateVersion !== undefined) set = await change({ version: activateVersion });
    const newest = content === undefined ? undefined : set.versions.at(-1)?.digest;
    const uploaded = newest === undefined ? "" : `\nUploaded version ${newest}`;
    writeResult(context, options, set, `${lineOf(set)}${uploaded}`);
    return EXIT.ok;
  });
}

/** Deletes a policy set. */
export async function policyDelete(
  name: string,
  options: PolicySetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, options.server);
  return withServerErrors(client.server, async () => {
    const { signal } = context;
    await client.deletePolicySet({ policy_set: name, ifMatch: "*" }, { signal });
    writeResult(context, options, {}, `Deleted the policy set ${printable(name)}.`);
    return EXIT.ok;
  });
}

/** Lets a set judge a plan of a file. Fails where the set forbids it. */
export async function policyTest(
  name: string,
  plan: string,
  options: PolicySetOptions & { readonly policyVersion?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const body = Uint8Array.from(await readNamed(resolve(context.directory, plan)));
  const client = await openServer(context, options.server);
  const { policyVersion: version } = options;
  return withServerErrors(client.server, async () => {
    const at = { policy_set: name, body, ...(version !== undefined && { version }) };
    const { data } = await client.testPolicies(at, { signal: context.signal });
    const lines = verdictLines(printable(name), data, context.terminal.style);
    writeResult(context, options, data, lines.join("\n"));
    return data.outcome === "passed" ? EXIT.ok : EXIT.failed;
  });
}

/** Lets a set judge the plans of former runs, and says what would have come out differently. */
export async function policyReplay(
  name: string,
  options: PolicySetOptions & { readonly policyVersion?: string; readonly runs: string },
  context: CommandContext,
): Promise<ExitCode> {
  const runs = Number(options.runs);
  if (!Number.isSafeInteger(runs) || runs < 1 || runs > 100) {
    throw new CommandError("--runs takes a number from 1 to 100.");
  }
  const { policyVersion: version } = options;
  const client = await openServer(context, options.server);
  return withServerErrors(client.server, async () => {
    const body = { runs, ...(version !== undefined && { version }) };
    const at = { policy_set: name, body };
    const { data } = await client.replayPolicies(at, { signal: context.signal });
    const lines = data.runs.flatMap((one) => {
      const before = one.before === undefined ? "not judged before" : `before: ${one.before}`;
      const what = `${printable(one.project)}/${printable(one.stack)} ${one.run} (${before})`;
      return verdictLines(what, one, context.terminal.style);
    });
    if (lines.length === 0) lines.push("No run of these stacks has a stored plan.");
    if (!data.complete)
      lines.push(
        "Not all plans were judged: it ended after two minutes, or before the oldest runs.",
      );
    writeResult(context, options, data.runs, lines.join("\n"));
    return EXIT.ok;
  });
}

function settingsOf(options: PolicyPublishOptions) {
  const { description, forAll, for: stacks, forProject: projects } = options;
  if (forAll && stacks.length + projects.length > 0) {
    throw new CommandError("--for-all excludes --for and --for-project.");
  }
  const enforcement = oneOf(options.enforcement, ENFORCEMENTS, "--enforcement");
  const role = oneOf(options.overrideRole, ["operator", "admin"] as const, "--override-role");
  return {
    ...(description !== undefined && { description }),
    ...(enforcement !== undefined && { enforcement }),
    ...(role !== undefined && { override_role: role }),
    ...((forAll || stacks.length > 0) && { stacks: [...stacks] }),
    ...((forAll || projects.length > 0) && { projects: [...projects] }),
  };
}

const ENFORCEMENTS = ["advisory", "overridable", "mandatory"] as const;

function oneOf<T extends string>(
  given: string | undefined,
  known: readonly T[],
  option: string,
): T | undefined {
  const found = known.find((one) => one === given);
  if (given === undefined || found !== undefined) return found;
  throw new CommandError(`${option} is one of ${known.join(", ")}.`);
}

async function readNamed(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new CommandError(`The file "${path}" cannot be read.`, { cause });
  }
}

function lineOf(set: PolicySet): string {
  const { name, enforcement, projects, stacks, version, description } = set;
  const scope = (what: string, patterns: readonly string[]): string =>
    patterns.length === 0 ? `all ${what}` : `${what} ${patterns.map(printable).join(", ")}`;
  const active = version === undefined ? "nothing uploaded" : `version ${version.slice(0, 12)}`;
  const text = description === "" ? "" : `: ${printable(description)}`;
  return `${printable(name)} (${enforcement}; ${scope("projects", projects)}; ${scope("stacks", stacks)}; ${active})${text}`;
}
