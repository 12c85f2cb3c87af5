import { type ResourceId, type ResourceType, tenancyOf } from "@stackwright/storage";
import { type Place, STACK_KIND } from "./run-places.ts";
import { SERVER_KINDS } from "./server-kinds.ts";

/** A project of an account. */
export interface ProjectPlace {
  readonly account: string;
  readonly project: string;
}

/** What begins the names of what belongs to stacks, or to their runs: it goes with them. */
const OF_STACKS: ReadonlySet<string | undefined> = new Set(["stack", "owner", "pool"]);

/** The kinds of which a project has resources beside those of its stacks: they go with the project. */
export const KINDS_OF_PROJECTS: readonly ResourceType[] = Object.values(SERVER_KINDS)
  .filter(({ scope, nameParts: [first] }) => scope === "project" && !OF_STACKS.has(first))
  .map(({ type }) => type);

/** Of those kinds the ones that a stack may have as well as its project, which is called so in the name. */
const SHARED_KINDS: ReadonlySet<string> = new Set(
  Object.values(SERVER_KINDS)
    .filter(({ nameParts: [first] }) => first === "project or stack")
    .map(({ type }) => type.kind),
);

/** Whether a resource of one of {@link KINDS_OF_PROJECTS} is of the project rather than of a stack. */
export function isOfProject({ type, name }: Pick<ResourceId, "type" | "name">): boolean {
  return !SHARED_KINDS.has(type.kind) || name === "project";
}

/**
 * What the account as a whole has and names projects by, and what becomes of it with a project.
 *
 *   removed    it is of the project alone
 *   forgets    the name is taken out of it
 *   stack      it is of a stack, and goes with that
 *   stays      the name was chosen by who may do so in all of the account, for any project that is called so
 *   origin     it is of the account, and names the project only with the run that it came from
 */
export const ACCOUNT_KINDS_NAMING_PROJECTS = Object.freeze({
  Project: "forgets",
  ProjectDeletion: "removed",
  RoleBinding: "removed",
  CreationCount: "removed",
  Workspace: "stack",
  PolicySet: "stays",
  AccountVariableSet: "stays",
  RfsStackSet: "stays",
  RfsStackSetOperation: "stays",
  UpstreamSchemas: "origin",
} as const satisfies Readonly<
  Record<string, "removed" | "forgets" | "stack" | "stays" | "origin">
>);

/** Where it is noted that a project is deleted. */
export function projectDeletionPlace({ account, project }: ProjectPlace): Place {
  return { tenancy: tenancyOf({ kind: "account", account }), name: project };
}

/** What users make in a project; the rest of its kinds is made because of these, and named by their ids. */
const MADE_BY_USERS: ReadonlySet<string> = new Set([
  STACK_KIND.type.kind,
  ...SHARED_KINDS,
  ...Object.values(SERVER_KINDS)
    .filter(({ scope, retention }) => scope === "project" && retention === "until deleted")
    .map(({ type }) => type.kind),
]);

/** The project in which users make a resource when it is new; undefined for what is of none, or follows from something else. */
export function projectOfNew(
  { type, tenancy, name }: Pick<ResourceId, "type" | "tenancy" | "name">,
  message: unknown,
): ProjectPlace | undefined {
  const { partition: account, namespace } = tenancy;
  if (MADE_BY_USERS.has(type.kind)) return { account, project: namespace };
  if (type.kind === SERVER_KINDS.project.type.kind) return { account, project: name };
  if (type.kind !== SERVER_KINDS.roleBinding.type.kind) return undefined;
  const { project } = message as { readonly project: string };
  return project === "" ? undefined : { account, project };
}
