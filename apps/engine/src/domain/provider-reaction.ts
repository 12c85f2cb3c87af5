import { ProviderReaction_Kind } from "@stackwright/proto/stackwright";

/** What follows where a version of a provider that a stack uses changes, by its name in the API. */
export const PROVIDER_REACTIONS = {
  none: ProviderReaction_Kind.KIND_UNSPECIFIED,
  notify: ProviderReaction_Kind.KIND_NOTIFY,
  plan: ProviderReaction_Kind.KIND_PLAN,
} as const;

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
