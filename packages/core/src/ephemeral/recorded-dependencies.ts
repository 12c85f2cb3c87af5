import { parseAddress } from "@stackwright/lang";
import { resourceOf } from "../state/check-state.ts";
import type { Dependency } from "../state/state-object.ts";
import type { Target } from "../walk/recorder.ts";

/** Whether an address is that of an ephemeral resource or of an instance of one. */
export function isEphemeralAddress(address: string): boolean {
  if (!address.includes("ephemeral.")) return false;
  const { value } = parseAddress(address);
  return value?.kind === "resource" && value.mode === "ephemeral";
}

/**
 * Dependencies as the state keeps them. There are no objects of ephemeral resources in it, so only the resource is named; what
 * they were opened from is among the dependencies by itself.
 */
export function recordedDependencies(dependencies: readonly Dependency[]): readonly Dependency[] {
  if (!dependencies.some(({ address }) => isEphemeralAddress(address))) return dependencies;
  const recorded = new Map<string, Dependency>();
  for (const dependency of dependencies) {
    const { kind, scope } = dependency;
    const ephemeral = scope === "instance" && isEphemeralAddress(dependency.address);
    const one: Dependency = ephemeral
      ? { address: resourceOf(dependency.address), scope: "resource", kind }
      : dependency;
    recorded.set(`${one.kind} ${one.scope} ${one.address}`, one);
  }
  return [...recorded.values()];
}

/** What an evaluation read, and for ephemeral resources what those were opened from, through others as well. */
export function throughEphemerals(targets: Iterable<Target>): ReadonlySet<Target> {
  const all = new Set(targets);
  // Grows while it is walked.
  for (const target of all) {
    const slots =
      target.kind === "instance" ? [target] : isOpened(target) ? target.slots.values() : [];
    for (const { through } of slots) for (const further of through) all.add(further);
  }
  return all;
}

function isOpened(target: Extract<Target, { kind: "resource" }>): boolean {
  return target.config?.mode === "ephemeral";
}
