import { type Project, Project_AutoApply, Project_Supersede } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { APPROVAL_BOUNDS, orDefault } from "../../domain/approval-time.ts";
import { KEY_MODES, keyModeName } from "../../domain/key-mode.ts";
import { PROVIDER_REACTIONS, providerReactionName } from "../../domain/provider-reaction.ts";
import { STACK_PATTERN } from "../../domain/stack-pattern.ts";
import { ProjectName } from "../api-parts.ts";
import { DriftRuleSettings, driftRuleFrom, ruleViewOf } from "../drift/drift-view.ts";
import { Reaction } from "../provider-reaction/provider-reaction-view.ts";
import { FreezeView } from "../stacks/freeze-view.ts";

const AutoApply = Type.Union(
  [Type.Literal("on_request"), Type.Literal("never"), Type.Literal("always")],
  { description: "whether plans are applied without an approval" },
);
const Supersede = Type.Union(
  [Type.Literal("none"), Type.Literal("pending"), Type.Literal("unapproved")],
  { description: "which older runs of a stack a new run ends" },
);

const AUTO_APPLY: Readonly<Record<Static<typeof AutoApply>, Project_AutoApply>> = {
  on_request: Project_AutoApply.AUTO_APPLY_UNSPECIFIED,
  never: Project_AutoApply.AUTO_APPLY_NEVER,
  always: Project_AutoApply.AUTO_APPLY_ALWAYS,
};
const SUPERSEDE: Readonly<Record<Static<typeof Supersede>, Project_Supersede>> = {
  none: Project_Supersede.SUPERSEDE_UNSPECIFIED,
  pending: Project_Supersede.SUPERSEDE_PENDING,
  unapproved: Project_Supersede.SUPERSEDE_UNAPPROVED,
};

const Keys = Type.Union([Type.Literal("either"), Type.Literal("client"), Type.Literal("server")], {
  description:
    "who has the keys of the stacks. client: the server makes none, and has no runs; server: it has those of every stack; either: the first who ran a stack",
});

const PoolRule = Type.Object(
  {
    pool: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" }),
    stacks: Type.Optional(
      Type.Array(Type.String({ pattern: STACK_PATTERN }), {
        maxItems: 50,
        description: "patterns of names; all stacks without it",
      }),
    ),
  },
  { additionalProperties: false, title: "PoolRule" },
);

function ApprovalSeconds(what: string) {
  const { leastMs, mostMs } = APPROVAL_BOUNDS;
  return Type.Integer({
    minimum: leastMs / 1_000,
    maximum: mostMs / 1_000,
    description: `${what}; 7 days by default. For plans that are made from then on`,
  });
}

/** NAMESPACE/TYPE, with a host before it or without. */
const SOURCE_PATTERN = "^(?:[A-Za-z0-9.:-]+/)?[A-Za-z0-9_-]+/[A-Za-z0-9_-]+$";

const SETTINGS = {
  drift: Type.Optional(DriftRuleSettings),
  provider_reaction: Type.Optional(Reaction),
  display_name: Type.Optional(Type.String({ maxLength: 256 })),
  required_approvals: Type.Optional(Type.Integer({ minimum: 1, maximum: 20 })),
  exclude_author: Type.Optional(Type.Boolean()),
  approvers: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 100 })),
  approval_wait_seconds: Type.Optional(ApprovalSeconds("how long a plan waits for its approval")),
  approval_valid_seconds: Type.Optional(ApprovalSeconds("how long an approval counts")),
  auto_apply: Type.Optional(AutoApply),
  supersede: Type.Optional(Supersede),
  outputs_shared_with: Type.Optional(
    Type.Array(ProjectName, {
      maxItems: 100,
      description: "projects whose runs may read the outputs of the stacks",
    }),
  ),
  key_instructions: Type.Optional(
    Type.String({
      maxLength: 4_096,
      description: "how members get the keys of the stacks, in words: no key",
    }),
  ),
  keys: Type.Optional(Keys),
  pure_providers: Type.Optional(
    Type.Array(Type.String({ pattern: SOURCE_PATTERN, maxLength: 256 }), {
      maxItems: 50,
      description:
        "providers that are known to be pure, by their source addresses or the ends of them: asked to plan an object of which nothing has changed they answer with the object and report nothing. Plans ask them about one such object of each type",
    }),
  ),
  pools: Type.Optional(
    Type.Array(PoolRule, {
      maxItems: 50,
      description: "the workers of runs: the first pool counts that names a stack",
    }),
  ),
};

export const ProjectSettings = Type.Object(SETTINGS, {
  additionalProperties: false,
  title: "ProjectSettings",
});
export const NewProject = Type.Object(
  { name: ProjectName, ...SETTINGS },
  { additionalProperties: false, title: "NewProject" },
);
const FACTS = {
  name: Type.String(),
  display_name: Type.String(),
  required_approvals: Type.Integer(),
  exclude_author: Type.Boolean(),
  approvers: Type.Array(Type.String()),
  approval_wait_seconds: Type.Integer(),
  approval_valid_seconds: Type.Integer(),
  auto_apply: AutoApply,
  supersede: Supersede,
  pools: Type.Array(PoolRule),
  outputs_shared_with: Type.Array(Type.String()),
  key_instructions: Type.String(),
  keys: Keys,
  pure_providers: Type.Array(Type.String()),
  drift: Type.Optional(DriftRuleSettings),
  provider_reaction: Reaction,
};
export const ProjectView = Type.Object(FACTS, { title: "Project" });
/** With what keeps its plans from being applied. */
export const ShownProject = Type.Object(
  { ...FACTS, freeze: Type.Optional(FreezeView) },
  { title: "ShownProject" },
);

/** What a request changes of the settings of a project. */
export function settingsOf(given: Static<typeof ProjectSettings>): Partial<Project> {
  const { display_name, required_approvals, exclude_author, approvers, auto_apply } = given;
  return {
    ...(display_name !== undefined && { displayName: display_name }),
    ...(required_approvals !== undefined && { requiredApprovals: required_approvals }),
    ...(exclude_author !== undefined && { excludeAuthor: exclude_author }),
    ...(approvers !== undefined && { approvers: [...new Set(approvers)] }),
    ...(given.approval_wait_seconds !== undefined && {
      approvalWaitMs: BigInt(given.approval_wait_seconds) * 1_000n,
    }),
    ...(given.approval_valid_seconds !== undefined && {
      approvalValidMs: BigInt(given.approval_valid_seconds) * 1_000n,
    }),
    ...(auto_apply !== undefined && { autoApply: AUTO_APPLY[auto_apply] }),
    ...(given.pools !== undefined && {
      pools: given.pools.map(({ pool, stacks = [] }) => ({ pool, stacks })),
    }),
    ...(given.outputs_shared_with !== undefined && {
      outputsSharedWith: [...new Set(given.outputs_shared_with)],
    }),
    ...(given.key_instructions !== undefined && { keyInstructions: given.key_instructions }),
    ...(given.keys !== undefined && { keys: KEY_MODES[given.keys] }),
    ...(given.pure_providers !== undefined && {
      pureProviders: [...new Set(given.pure_providers)],
    }),
    ...(given.drift !== undefined && { drift: driftRuleFrom(given.drift) }),
    ...(given.provider_reaction !== undefined && {
      providerReaction: PROVIDER_REACTIONS[given.provider_reaction],
    }),
    ...(given.supersede !== undefined && { supersede: SUPERSEDE[given.supersede] }),
  };
}

/** A project as the API shows it. */
export function projectViewOf(project: Project): Static<typeof ProjectView> {
  const { name, displayName, requiredApprovals, excludeAuthor, approvers } = project;
  return {
    name,
    display_name: displayName,
    required_approvals: Math.max(1, requiredApprovals),
    exclude_author: excludeAuthor,
    approvers: [...approvers],
    approval_wait_seconds: Number(orDefault(project.approvalWaitMs) / 1_000n),
    approval_valid_seconds: Number(orDefault(project.approvalValidMs) / 1_000n),
    auto_apply: nameOf(AUTO_APPLY, project.autoApply) ?? "never",
    supersede: nameOf(SUPERSEDE, project.supersede) ?? "none",
    outputs_shared_with: [...project.outputsSharedWith],
    key_instructions: project.keyInstructions,
    keys: keyModeName(project.keys),
    pure_providers: [...project.pureProviders],
    ...(project.drift !== undefined && { drift: ruleViewOf(project.drift) }),
    provider_reaction: providerReactionName(project.providerReaction),
    pools: project.pools.map(({ pool, stacks }) => ({
      pool,
      ...(stacks.length > 0 && { stacks: [...stacks] }),
    })),
  };
}

/** The name of a stored value; undefined for one of a newer release. */
function nameOf<N extends string, V>(table: Readonly<Record<N, V>>, value: V): N | undefined {
  return (Object.keys(table) as N[]).find((name) => table[name] === value);
}
