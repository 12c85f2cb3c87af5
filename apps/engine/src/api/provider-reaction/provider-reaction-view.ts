import type { Project, ProviderReaction } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import { providerReactionName, providerReactionOf } from "../../domain/provider-reaction.ts";
import { timeOf } from "../runs/run-view.ts";

const REACTIONS = [Type.Literal("none"), Type.Literal("notify"), Type.Literal("plan")] as const;

/** What follows for the stacks of a project that have no reaction of their own, or for one stack. */
export const Reaction = Type.Union([...REACTIONS], {
  description:
    "what follows where a version of a provider that a stack uses changes: nothing; it is noted and notifications are sent; a run that only plans is requested, too",
});

/** What follows for a stack, as a request says it. */
export const ProviderReactionSettings = Type.Object(
  {
    reaction: Type.Union([...REACTIONS, Type.Literal("inherit")], {
      description: "what follows; inherit: what the project says",
    }),
  },
  { additionalProperties: false, title: "ProviderReactionSettings" },
);

export const ProviderReactionView = Type.Object(
  {
    reaction: Reaction,
    from: Type.Union([Type.Literal("stack"), Type.Literal("project")], {
      description: "who says so; without a reaction of the stack it is the project",
    }),
    actor: Type.Optional(
      Type.String({ description: "who wrote that of the stack, the author of its runs" }),
    ),
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
  own: ProviderReaction | undefined,
  project: Pick<Project, "providerReaction"> | undefined,
): Static<typeof ProviderReactionView> {
  const { kind, from } = providerReactionOf(own, project);
  const { actor = "", notices = [], lastProblem = "" } = own ?? {};
  return {
    reaction: providerReactionName(kind),
    from,
    ...(from === "stack" && actor !== "" && { actor }),
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
