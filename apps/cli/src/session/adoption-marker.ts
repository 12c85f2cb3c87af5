import type { TerraformState } from "@stackwright/tfstate";

/** A version of states that no release of the other commands has. */
export const MARKER_VERSION = 99;

/**
 * A file in the place of an adopted state. Its version is one that no release of the other commands has, so that they refuse
 * to work on it instead of creating everything a second time.
 */
export function adoptionMarker({
  stack,
  store,
  file: { lineage, serial },
}: {
  readonly stack: string;
  readonly store: string;
  readonly file: Pick<TerraformState, "lineage" | "serial">;
}): Uint8Array {
  const marker = {
    version: MARKER_VERSION,
    // The other commands show this version, and nothing else of what is here.
    terraform_version: "99.0.0-adopted-by-stackwright",
    serial: Number(serial),
    lineage,
    adopted_by: "stackwright",
    adopted_stack: stack,
    adopted_store: store,
    note: "This state was adopted. Write it back with: stackwright hand-back",
  };
  return Buffer.from(`${JSON.stringify(marker, undefined, 2)}\n`);
}
