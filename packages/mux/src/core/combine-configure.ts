import type { ConfigureResponse } from "@stackwright/proto/pulumirpc";

/** What a server can that says nothing of itself. */
export const NOTHING: Capabilities = {
  acceptSecrets: false,
  supportsPreview: false,
  acceptResources: false,
  acceptOutputs: false,
  supportsAutonamingConfiguration: false,
};

export const EVERYTHING: Capabilities = {
  acceptSecrets: true,
  supportsPreview: true,
  acceptResources: true,
  acceptOutputs: true,
  supportsAutonamingConfiguration: true,
};

/** What a provider says of itself when it is configured. */
export type Capabilities = Pick<
  ConfigureResponse,
  | "acceptSecrets"
  | "supportsPreview"
  | "acceptResources"
  | "acceptOutputs"
  | "supportsAutonamingConfiguration"
>;

/**
 * The capabilities of a mux: each is the AND of its servers, so that it promises no more than the least
 * capable of them. `undefined` stands for a server that does not implement Configure: `missing` says
 * whether it counts as one that can nothing, or not at all.
 *
 * Source: the muxer's documentation (seed 000), Configure.
 */
export function combineCapabilities(
  replies: readonly (Capabilities | undefined)[],
  missing: "can-nothing" | "ignored",
): Capabilities {
  const counted = replies.flatMap((reply) =>
    reply === undefined ? (missing === "ignored" ? [] : [NOTHING]) : [reply],
  );
  return counted.reduce<Capabilities>(
    (all, one) => ({
      acceptSecrets: all.acceptSecrets && one.acceptSecrets,
      supportsPreview: all.supportsPreview && one.supportsPreview,
      acceptResources: all.acceptResources && one.acceptResources,
      acceptOutputs: all.acceptOutputs && one.acceptOutputs,
      supportsAutonamingConfiguration:
        all.supportsAutonamingConfiguration && one.supportsAutonamingConfiguration,
    }),
    EVERYTHING,
  );
}
