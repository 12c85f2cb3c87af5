import type { ProviderReaction } from "@stackwright/client";

export type Reaction = ProviderReaction["reaction"];

/** What follows where a version of a provider changes. */
export const REACTIONS: Readonly<Record<Reaction, string>> = {
  none: "nothing follows",
  notify: "it is noted, and notifications are sent",
  plan: "it is noted, notifications are sent, and a plan is requested",
};

/** In the order in which more follows. */
export const CHOICES = ["none", "notify", "plan"] as const;

/** When something follows. */
export const WHEN =
  "A version that is used is deprecated, withdrawn, deleted or put into quarantine, or a newer one is published.";
