import type { Project, ProjectSettings } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { ExitCode } from "../exit-code.ts";
import { parseDuration } from "../session/session.ts";
import { printable } from "../terminal/printable.ts";
import { type AccountOptions, accountCall } from "./account-call.ts";
import { changeSeen } from "./change-seen.ts";

/** Settings as options of a command; what is undefined stays as it is. */
export interface ProjectOptions extends AccountOptions {
  readonly displayName?: string;
  readonly requiredApprovals?: string;
  readonly excludeAuthor?: boolean;
  /** How long a plan waits for its approval, such as "48h". */
  readonly approvalWait?: string;
  /** How long an approval counts. */
  readonly approvalValid?: string;
  readonly approver: readonly string[];
  readonly anyApprover: boolean;
  readonly autoApply?: string;
  readonly supersede?: string;
  readonly shareOutputsWith: readonly string[];
  readonly shareNoOutputs: boolean;
  readonly keyInstructions?: string;
  readonly keys?: string;
  readonly pureProvider: readonly string[];
  readonly askAllProviders: boolean;
  readonly providerReaction?: string;
}

const REACTIONS: Readonly<Record<Project["provider_reaction"], string>> = {
  none: "nothing follows, unless a stack says otherwise",
  notify: "notifications are sent, unless a stack says otherwise",
  plan: "notifications are sent and plans are requested, unless a stack says otherwise",
};

const KEYS: Readonly<Record<Project["keys"], string>> = {
  either: "the first who ran a stack",
  client: "its members alone, so the server has no runs",
  server: "the server",
};

/** Lists the projects that the caller may see. */
export async function projectsList(
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.listProjects({}, { signal })).data.projects,
    (projects) =>
      projects.length === 0 ? ["The account has no projects."] : projects.map(({ name }) => name),
  );
}

/** Shows the settings of a project. */
export async function projectsShow(
  project: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.showProject({ project }, { signal })).data,
    linesOf,
  );
}

/** Creates a project with the settings that the options name. */
export async function projectsCreate(
  name: string,
  options: ProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = { name, ...settingsOf(options) };
  return accountCall(
    options,
    context,
    async (client, signal) => (await client.createProject({ body }, { signal })).data,
    linesOf,
  );
}

/** Changes the settings that the options name. */
export async function projectsSet(
  project: string,
  options: ProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = settingsOf(options);
  if (Object.keys(body).length === 0) {
    throw new CommandError("There is nothing to change.", {
      advice: "Name a setting, such as --required-approvals 2. --help lists them.",
    });
  }
  return accountCall(
    options,
    context,
    async (client, signal) =>
      changeSeen(
        async () => client.showProject({ project }, { signal }),
        async (ifMatch) => client.changeProject({ project, ifMatch, body }, { signal }),
      ),
    linesOf,
  );
}

/** Deletes a project without stacks. */
export async function projectsDelete(
  project: string,
  options: AccountOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return accountCall(
    options,
    context,
    async (client, signal) =>
      (await client.deleteProject({ project, ifMatch: "*" }, { signal })).data,
    () => [`Deleted the project ${project}.`],
  );
}

function settingsOf(options: ProjectOptions): ProjectSettings {
  const { displayName, excludeAuthor, approver, anyApprover, shareOutputsWith } = options;
  if (anyApprover && approver.length > 0) {
    throw new CommandError("--any-approver excludes --approver.");
  }
  if (options.shareNoOutputs && shareOutputsWith.length > 0) {
    throw new CommandError("--share-no-outputs excludes --share-outputs-with.");
  }
  if (options.askAllProviders && options.pureProvider.length > 0) {
    throw new CommandError("--ask-all-providers excludes --pure-provider.");
  }
  const autoApply = oneOf(options.autoApply, "--auto-apply", ["on_request", "never", "always"]);
  const supersede = oneOf(options.supersede, "--supersede", ["none", "pending", "unapproved"]);
  const reaction = oneOf(options.providerReaction, "--provider-reaction", [
    "none",
    "notify",
    "plan",
  ]);
  const keys = oneOf(options.keys, "--keys", ["client", "server", "either"]);
  const approvals = numberOf(options.requiredApprovals);
  return {
    ...(displayName !== undefined && { display_name: displayName }),
    ...(approvals !== undefined && { required_approvals: approvals }),
    ...(excludeAuthor !== undefined && { exclude_author: excludeAuthor }),
    ...(options.approvalWait !== undefined && {
      approval_wait_seconds: secondsOf(options.approvalWait),
    }),
    ...(options.approvalValid !== undefined && {
      approval_valid_seconds: secondsOf(options.approvalValid),
    }),
    ...((anyApprover || approver.length > 0) && { approvers: [...approver] }),
    ...(autoApply !== undefined && { auto_apply: autoApply }),
    ...(supersede !== undefined && { supersede }),
    ...(reaction !== undefined && { provider_reaction: reaction }),
    ...(keys !== undefined && { keys }),
    ...(options.keyInstructions !== undefined && { key_instructions: options.keyInstructions }),
    ...((options.askAllProviders || options.pureProvider.length > 0) && {
      pure_providers: [...options.pureProvider],
    }),
    ...((options.shareNoOutputs || shareOutputsWith.length > 0) && {
      outputs_shared_with: [...shareOutputsWith],
    }),
  };
}

function secondsOf(text: string): number {
  return Math.ceil(parseDuration(text) / 1_000);
}

/** `7 days`, `36 hours`, `90 minutes`, `100 seconds` */
function spanOf(seconds: number): string {
  for (const [unit, size] of UNITS) {
    if (seconds % size === 0) return `${seconds / size} ${unit}${seconds === size ? "" : "s"}`;
  }
  return `${seconds} seconds`;
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,4}$/.test(text)) return Number(text);
  throw new CommandError(`--required-approvals takes a number, not "${text}".`);
}

function oneOf<T extends string>(
  text: string | undefined,
  option: string,
  values: readonly T[],
): T | undefined {
  if (text === undefined) return undefined;
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw new CommandError(`${option} takes ${values.join(", ")}, not "${text}".`);
}

/** Empty for a server of an earlier release, whose plans and approvals have no end. */
function approvalTimes({
  approval_wait_seconds: wait,
  approval_valid_seconds: valid,
}: Partial<Project>): readonly string[] {
  if (wait === undefined || valid === undefined) return [];
  return [`  a plan waits ${spanOf(wait)} for that, and an approval counts for ${spanOf(valid)}`];
}

function linesOf(project: Project): readonly string[] {
  const { required_approvals: approvals, approvers, outputs_shared_with: shared } = project;
  const many = approvals === 1 ? "1 approval" : `${approvals} approvals`;
  const from = approvers.length === 0 ? "any operator" : approvers.join(" ");
  const title = project.display_name === "" ? "" : `, ${project.display_name}`;
  return [
    `${project.name}${title}`,
    `  plans need ${many} of ${from}${project.exclude_author ? ", not of who requested the run" : ""}`,
    ...approvalTimes(project),
    `  applied without an approval: ${project.auto_apply}`,
    `  runs that a new one ends: ${project.supersede}`,
    `  outputs for: ${shared.length === 0 ? "no other project" : shared.join(" ")}`,
    `  where a provider changes: ${REACTIONS[project.provider_reaction]}`,
    // A server of an earlier release does not say it.
    ...((project.keys ?? "either") === "either"
      ? []
      : [`  who has the keys of its stacks: ${KEYS[project.keys]}`]),
    ...(project.pure_providers.length === 0
      ? []
      : [`  providers known to be pure: ${project.pure_providers.join(" ")}`]),
    ...(project.key_instructions === ""
      ? []
      : [`  keys of its stacks: ${printable(project.key_instructions)}`]),
  ];
}
