import type { StackOutputs } from "@stackwright/proto/stackwright";

/**
 * The revision with which the outputs that a trigger follows became what they are: of all outputs, or of those that it names. A named
 * output that is removed changes nothing: there is nothing to be read of it.
 */
export function followedRevision(
  {
    revision,
    outputs,
  }: Pick<StackOutputs, "revision"> & {
    readonly outputs: readonly { readonly name: string; readonly changed: bigint }[];
  },
  { outputs: names }: { readonly outputs: readonly string[] },
): bigint {
  if (names.length === 0) return revision;
  let newest = 0n;
  for (const { name, changed } of outputs) {
    if (!names.includes(name)) continue;
    // An older release did not record it.
    const at = changed === 0n ? revision : changed;
    if (at > newest) newest = at;
  }
  return newest;
}
