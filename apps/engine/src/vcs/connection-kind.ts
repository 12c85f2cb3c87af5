import { VcsConnection_Apply, VcsConnection_Kind } from "@stackwright/proto/stackwright";

/** What serves the repository of a connection. */
export type ConnectionKind = "generic" | "gitea" | "github";

export const CONNECTION_KINDS: readonly ConnectionKind[] = ["generic", "gitea", "github"];

/** When the plans of merged commits are applied. */
type ApplyPolicy = "manual" | "on_merge" | "on_comment";

export const STORED_KINDS: Readonly<Record<ConnectionKind, VcsConnection_Kind>> = {
  generic: VcsConnection_Kind.KIND_GENERIC,
  gitea: VcsConnection_Kind.KIND_GITEA,
  github: VcsConnection_Kind.KIND_GITHUB,
};

export const STORED_POLICIES: Readonly<Record<ApplyPolicy, VcsConnection_Apply>> = {
  manual: VcsConnection_Apply.APPLY_MANUAL,
  on_merge: VcsConnection_Apply.APPLY_ON_MERGE,
  on_comment: VcsConnection_Apply.APPLY_ON_COMMENT,
};

export function kindOf(kind: VcsConnection_Kind): ConnectionKind {
  if (kind === VcsConnection_Kind.KIND_GITEA) return "gitea";
  return kind === VcsConnection_Kind.KIND_GITHUB ? "github" : "generic";
}

export function policyOf(apply: VcsConnection_Apply): ApplyPolicy {
  if (apply === VcsConnection_Apply.APPLY_ON_MERGE) return "on_merge";
  return apply === VcsConnection_Apply.APPLY_ON_COMMENT ? "on_comment" : "manual";
}
