import type { PlanSet } from "@stackwright/client";
import { printable } from "../terminal/printable.ts";
import type { OpenSet } from "./follow-set.ts";

/**
 * What to say before the stacks of a set are destroyed of those that read their outputs and are not in it; empty where there are none.
 * Their next plans find no outputs. Stacks that the user may not see are not named.
 */
export async function outsideReaders(
  { client, project, context: { signal } }: OpenSet,
  { stacks }: PlanSet,
): Promise<string> {
  const inside = new Set(stacks.map(({ stack }) => `${project}/${stack}`));
  const lines: string[] = [];
  for (const name of inside) {
    const { uses } = (await client.listUses({ kind: "stack", name }, { signal })).data;
    const readers = uses
      .filter(({ outputs = [] }) => outputs.length > 0)
      .map((use) => `${use.project}/${use.stack}`)
      .filter((reader) => !inside.has(reader));
    if (readers.length > 0) {
      lines.push(`${printable(`  ${name}: ${readers.toSorted().join(", ")}`)}\n`);
    }
  }
  if (lines.length === 0) return "";
  return `Warning: stacks outside of this set read outputs of what is destroyed, and cannot be planned without them:\n${lines.join("")}`;
}
