import {
  type Project,
  type ProviderReaction,
  ProviderReaction_Kind,
} from "@stackwright/proto/stackwright";

/** What follows where a version of a provider that a stack uses changes, by its name in the API. */
export const PROVIDER_REACTIONS = {
  none: ProviderReaction_Kind.KIND_UNSPECIFIED,
  notify: ProviderReaction_Kind.KIND_NOTIFY,
  plan: ProviderReaction_Kind.KIND_PLAN,
} as const;

/** The author of runs that follow from what a project says. */
export const PROVIDER_ACTOR = "providers";

/** What follows for a stack: what it says itself, or what its project says, which is nothing by default. */
export function providerReactionOf(
  own: Pick<ProviderReaction, "kind" | "inherits"> | undefined,
  project: Pick<Project, "providerReaction"> | undefined,
): { readonly kind: ProviderReaction_Kind; readonly from: "stack" | "project" } {
  if (own !== undefined && !own.inherits) return { kind: own.kind, from: "stack" };
  return {
    kind: project?.providerReaction ?? ProviderReaction_Kind.KIND_UNSPECIFIED,
    from: "project",
  };
}

/** Its name in the API; that of a kind of a newer release, which does nothing here, is that of nothing. */
export function providerReactionName(kind: ProviderReaction_Kind): keyof typeof PROVIDER_REACTIONS {
  if (kind === PROVIDER_REACTIONS.plan) return "plan";
  return kind === PROVIDER_REACTIONS.notify ? "notify" : "none";
}

/** What may happen to a version: the last one concerns stacks that use an older version, the others those that use it. */
export type ProviderChangeName =
  | "deprecated"
  | "withdrawn"
  | "deleted"
  | "quarantined"
  | "published";

/** What the cause of a run that is requested for such a change begins with. */
export const PROVIDER_CAUSE = "provider:";

/** Changes that are taken note of for a stack at the same time. */
export const MAX_NOTICES = 200;
