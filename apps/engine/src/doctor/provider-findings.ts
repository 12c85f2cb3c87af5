import type { QuarantinedUse } from "../live/quarantined-uses.ts";
import { type Finding, finding } from "./finding.ts";

/** Stacks that have to change to another version of a provider before they can be planned and applied. */
export function providerFindings(uses: readonly QuarantinedUse[]): readonly Finding[] {
  return uses.map(({ project, stack, provider, version, objects, standing }) => {
    const { sinceMs, reason } = standing;
    const were = objects === 1 ? "object was" : "objects were";
    const why = reason === "" ? "" : `: ${reason}`;
    return finding(
      "provider_quarantined",
      `${objects} ${were} written with ${provider} ${version}, which is in quarantine${why}`,
      { project, stack, ...(sinceMs !== 0 && { sinceMs }) },
    );
  });
}
