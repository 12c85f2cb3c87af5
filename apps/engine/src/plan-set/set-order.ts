import { type PlanSet, type PlanSetMember, Run_Mode } from "@stackwright/proto/stackwright";

type Reading = Pick<PlanSetMember, "stack" | "stackName" | "reads">;

/**
 * The members of a set in the order in which their plans may be applied: each behind those that it reads, else as they were given. Of what is
 * destroyed it is the other way round: what a stack reads is there as long as it is.
 */
export function inOrder({
  members,
  mode,
}: Pick<PlanSet, "members" | "mode">): readonly PlanSetMember[] {
  const ordered = behindTheirReads(members);
  return mode === Run_Mode.MODE_DESTROY ? ordered.toReversed() : ordered;
}

function behindTheirReads<M extends Reading>(members: readonly M[]): readonly M[] {
  const byStack = new Map(members.map((member) => [member.stack, member]));
  const ordered = new Set<M>();
  const seen = new Set<M>();
  const visit = (member: M): void => {
    if (seen.has(member)) return;
    seen.add(member);
    for (const stack of member.reads) {
      const other = byStack.get(stack);
      if (other !== undefined) visit(other);
    }
    ordered.add(member);
  };
  for (const member of members) visit(member);
  return [...ordered];
}

/** The names on a way along what members read, both ends included; undefined where there is none. */
export function wayBetween(
  members: readonly Reading[],
  from: string,
  to: string,
): readonly string[] | undefined {
  const byStack = new Map(members.map((member) => [member.stack, member]));
  const ways: (readonly string[])[] = [[from]];
  const seen = new Set([from]);
  for (const way of ways) {
    const last = way.at(-1) ?? from;
    if (last === to) return way.map((stack) => byStack.get(stack)?.stackName ?? stack);
    for (const next of byStack.get(last)?.reads ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}
