import { ProviderReaction, type ProviderReaction_Kind } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { PROVIDER_REACTIONS } from "../../domain/provider-reaction.ts";
import { timeOf } from "../runs/run-view.ts";

const Reaction = Type.Union([Type.Literal("none"), Type.Literal("notify"), Type.Literal("plan")], {
  description:
    "what follows where a version of a provider that the stack uses changes: nothing; it is noted and notifications are sent; a run that only plans is requested, too",
});

/** What follows for a stack, as a request says it. */
export const ProviderReactionSettings = Type.Object(
  { reaction: Reaction },
  { additionalProperties: false, title: "ProviderReactionSettings" },
);

export const ProviderReactionView = Type.Object(
  {
    reaction: Reaction,
    actor: Type.Optional(Type.String({ description: "who wrote it, the author of its runs" })),
    notices: Type.Array(
      Type.Object(
        {
          provider: Type.String({ description: "source address, as the stack has it" }),
          version: Type.String(),
          change: Type.String({
            description:
              "deprecated, withdrawn, deleted, quarantined, or published: a newer version",
          }),
          at: Type.String({ format: "date-time", description: "when it was noted" }),
          run: Type.Optional(Type.String({ description: "the run that was requested for it" })),
        },
        { title: "ProviderNotice" },
      ),
      { description: "changes that were noted, the oldest first" },
    ),
    problem: Type.Optional(
      Type.String({ description: "why no run was requested, or why nothing more is noted" }),
    ),
  },
  { title: "ProviderReaction" },
);

export function providerReactionViewOf(
  { kind, actor, notices, lastProblem }: ProviderReaction = ProviderReaction.create(),
): Static<typeof ProviderReactionView> {
  return {
    reaction: nameOf(kind),
    ...(actor !== "" && { actor }),
    notices: notices.map(({ provider, version, change, atMs, run }) => ({
      provider,
      version,
      change,
      at: timeOf(atMs),
      ...(run !== "" && { run }),
    })),
    ...(lastProblem !== "" && { problem: lastProblem }),
  };
}

function nameOf(kind: ProviderReaction_Kind): keyof typeof PROVIDER_REACTIONS {
  if (kind === PROVIDER_REACTIONS.plan) return "plan";
  return kind === PROVIDER_REACTIONS.notify ? "notify" : "none";
}
