import { byKey, type Collection, kind, type Runtime } from "@stackwright/krt";
import {
  type ProviderNotice,
  type ProviderReaction,
  ProviderReaction_Kind,
} from "@stackwright/proto/stackwright";
import { providerReactionOf } from "../domain/provider-reaction.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey, type StackFact } from "./stack-facts.ts";

type NoticeFact = Pick<ProviderNotice, "provider" | "version" | "change" | "mark">;

/** What is stored of a stack. */
interface StoredReaction extends Pick<ProviderReaction, "kind" | "inherits"> {
  /** That of the stack. */
  readonly key: string;
  /** Empty before the first. */
  readonly lastRun: string;
  readonly problem: string;
  /** What was taken note of. */
  readonly notices: readonly NoticeFact[];
}

/** What a project says for its stacks. */
interface ProjectReaction {
  /** ACCOUNT/PROJECT */
  readonly key: string;
  readonly providerReaction: ProviderReaction_Kind;
}

/** A stack that reacts to changes of the providers that it uses, by what it says itself or by its project. */
export interface ProviderReactionFact extends Omit<StoredReaction, "kind" | "inherits"> {
  /** Runs are requested, too. */
  readonly plans: boolean;
}

export const STORED_REACTIONS: FollowedKind<StoredReaction> = {
  name: "stored reactions to providers",
  type: SERVER_KINDS.providerReaction.type,
  kind: kind<StoredReaction>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const stored = decodeRecord(SERVER_KINDS.providerReaction, resource);
    const { notices, lastProblem } = stored;
    return {
      key: placeKey(resource.id),
      kind: stored.kind,
      inherits: stored.inherits,
      lastRun: notices.findLast(({ run }) => run !== "")?.run ?? "",
      problem: lastProblem,
      notices: notices.map(({ provider, version, change, mark }) => ({
        provider,
        version,
        change,
        mark,
      })),
    };
  },
};

export const PROJECT_REACTIONS: FollowedKind<ProjectReaction> = {
  name: "reactions to providers of projects",
  type: SERVER_KINDS.project.type,
  kind: kind<ProjectReaction>()({ key: ({ key }) => key }),
  keyOf: ({ tenancy, name }) => `${tenancy.partition}/${name}`,
  project: (resource) => {
    const { providerReaction } = decodeRecord(SERVER_KINDS.project, resource);
    if (providerReaction === ProviderReaction_Kind.KIND_UNSPECIFIED) return undefined;
    return { key: `${resource.id.tenancy.partition}/${resource.id.name}`, providerReaction };
  },
};

/** The stacks for which something follows where a version of a provider changes. */
export function deriveProviderReactions(
  rt: Runtime,
  {
    stacks,
    stored,
    projects,
  }: {
    readonly stacks: Collection<StackFact>;
    readonly stored: Collection<StoredReaction>;
    readonly projects: Collection<ProjectReaction>;
  },
): Collection<ProviderReactionFact> {
  return rt.derive(
    stacks,
    (ctx, { key, account, project }): ProviderReactionFact | undefined => {
      const own = ctx.fetchOne(stored, byKey(key));
      const { kind: reaction } = providerReactionOf(
        own,
        ctx.fetchOne(projects, byKey(`${account}/${project}`)),
      );
      if (reaction === ProviderReaction_Kind.KIND_UNSPECIFIED) return undefined;
      return {
        key,
        plans: reaction === ProviderReaction_Kind.KIND_PLAN,
        lastRun: own?.lastRun ?? "",
        problem: own?.problem ?? "",
        notices: own?.notices ?? [],
      };
    },
    {
      name: "reactions to providers",
      kind: kind<ProviderReactionFact>()({ key: ({ key }) => key }),
    },
  );
}
