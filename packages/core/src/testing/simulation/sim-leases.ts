import { createChance } from "./chance.ts";
import type { SimConfig, SimLease } from "./sim-config.ts";
import type { SimCase, SimStep } from "./simulate.ts";

const LEASES = ["l0", "l1", "l2"] as const;

/**
 * The same case with ephemeral resources, whose values are told to resources as write-only ones. They are chosen by chances of
 * their own, so that a seed makes the same resources, steps and faults with them and without.
 */
export function withLeases(given: SimCase): SimCase {
  const chance = createChance(given.seed ^ 0x1ea5e);
  const [first] = given.steps[0]?.config ?? [];
  const leases: readonly SimLease[] = [
    { name: "l0", renews: chance.maybe(0.5) },
    { name: "l1", renews: chance.maybe(0.5), ...(first && { of: first.name }) },
    { name: "l2", renews: chance.maybe(0.3), from: chance.pick(["l0", "l1"]) },
  ];
  const tokens = new Map<string, { lease: string; version: number } | undefined>();
  const steps = given.steps.map((step): SimStep => {
    const config = step.config.map((resource, position) => {
      const { name } = resource;
      if (!tokens.has(name)) {
        const lease = chance.pick(LEASES);
        tokens.set(name, chance.maybe(0.7) ? { lease, version: 1 } : undefined);
      }
      const token = tokens.get(name);
      if (token === undefined) return resource;
      if (chance.maybe(0.25)) token.version += 1;
      // What a lease is made from stands before those that use it.
      const source = sourceOf(token.lease, leases);
      const place = step.config.findIndex((other) => other.name === source);
      return place >= position ? resource : { ...resource, token: { ...token } };
    });
    return { ...step, config, leases: usable(leases, config) };
  });
  return { ...given, steps };
}

/** Leases as they can be written down with some resources. */
export function usable(leases: readonly SimLease[], config: SimConfig): readonly SimLease[] {
  return leases.map(({ of, ...lease }) =>
    of !== undefined && config.some(({ name }) => name === of) ? { ...lease, of } : lease,
  );
}

/** The resource that a lease is made from, itself or through another one. */
function sourceOf(name: string, leases: readonly SimLease[]): string | undefined {
  const lease = leases.find((other) => other.name === name);
  if (lease?.from !== undefined) return sourceOf(lease.from, leases);
  return lease?.of;
}
