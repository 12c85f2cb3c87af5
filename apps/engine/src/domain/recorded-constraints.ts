import type { ProviderConstraint } from "@stackwright/proto/stackwright";

/** Providers that are recorded. */
export const MAX_CONSTRAINED = 100;
/** Bytes of what is recorded: it is stored with each version, and read with each step of the queue of the stack. */
const MAX_RECORDED_BYTES = 16 * 1024;

/** What is recorded of constraints: all of them, or nothing where they are more than that, as a part would not say what is allowed. */
export function recordedConstraints(all: readonly ProviderConstraint[]): ProviderConstraint[] {
  if (all.length > MAX_CONSTRAINED) return [];
  const recorded = all.map(({ source, versions }) => ({ source, versions }));
  return Buffer.byteLength(JSON.stringify(recorded)) > MAX_RECORDED_BYTES ? [] : recorded;
}
