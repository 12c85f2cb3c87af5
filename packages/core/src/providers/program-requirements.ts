import { type ProviderRequirement, VersionConstraints } from "@stackwright/provider-source";
import type { JoinedProvider } from "./joined-file.ts";

/**
 * What has to be there for requirements: the programs in place of a provider that they make up, and one entry for each source, with all
 * of its constraints.
 */
export function programRequirements(
  requirements: Iterable<ProviderRequirement>,
  joined: ReadonlyMap<string, JoinedProvider>,
): readonly ProviderRequirement[] {
  const found = new Map<string, ProviderRequirement>();
  const add = ({ address, constraints }: ProviderRequirement): void => {
    const source = address.toString();
    const programs = joined.get(source)?.programs;
    if (programs !== undefined) {
      for (const program of programs) add(program);
      return;
    }
    const known = found.get(source)?.constraints;
    const all =
      known === undefined ? constraints : VersionConstraints.intersection(known, constraints);
    found.set(source, { address, constraints: all });
  };
  for (const requirement of requirements) add(requirement);
  return [...found.values()];
}
