import type { ProviderStanding } from "../domain/registry-query.ts";
import { type FindStanding, standingOfSource } from "../upstream/provider-standing.ts";
import type { LiveView } from "./live-view.ts";
import { visitResources } from "./search-resources.ts";
import type { StackFact } from "./stack-facts.ts";

/** A stack with objects that were written with a version of a provider which is in quarantine. */
export interface QuarantinedUse {
  readonly project: string;
  /** Name of the stack. */
  readonly stack: string;
  /** Source address as the stack has it, which may be that of an upstream namespace. */
  readonly provider: string;
  readonly version: string;
  readonly objects: number;
  readonly standing: ProviderStanding;
}

/** The stacks whose objects were written with versions in quarantine. Each version is asked about once, however many objects have it. */
export async function quarantinedUses(
  live: LiveView,
  {
    stacks,
    account,
    findStanding,
    signal,
  }: {
    readonly stacks: readonly StackFact[];
    readonly account: string;
    readonly findStanding: FindStanding;
    readonly signal: AbortSignal;
  },
): Promise<readonly QuarantinedUse[]> {
  const uses: Omit<QuarantinedUse, "standing">[] = [];
  await visitResources(live, { stacks, signal }, ({ project, name }, resources) => {
    const counts = new Map<string, Omit<QuarantinedUse, "standing">>();
    for (const { provider, providerVersion: version } of resources) {
      const key = `${provider} ${version}`;
      const objects = (counts.get(key)?.objects ?? 0) + 1;
      counts.set(key, { project, stack: name, provider, version, objects });
    }
    uses.push(...counts.values());
    return true;
  });
  const standings = new Map<string, ProviderStanding>();
  const found: QuarantinedUse[] = [];
  for (const use of uses) {
    const { provider: source, version } = use;
    const key = `${source} ${version}`;
    const standing =
      standings.get(key) ?? (await standingOfSource(findStanding, account, { source, version }));
    standings.set(key, standing);
    if (standing.state === "quarantined") found.push({ ...use, standing });
  }
  return found;
}
