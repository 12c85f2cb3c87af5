import { createHash } from "node:crypto";
import {
  type DriftPart,
  type DriftRule,
  DriftRule_Reaction,
  type Project,
  type StackDrift,
} from "@stackwright/proto/stackwright";
import { matchesStack } from "./stack-pattern.ts";

/** The least and the most minutes between two checks of a stack. */
export const MIN_DRIFT_MINUTES = 5;
export const MAX_DRIFT_MINUTES = 60 * 24 * 90;

/** Parts of a rule, patterns of one, and the form of a pattern: those of names of stacks, of types of objects. */
export const MAX_DRIFT_PARTS = 10;
export const MAX_PART_TYPES = 20;
export const TYPE_PATTERN = "^[a-z0-9_*][a-z0-9_*-]{0,127}$";

/** What follows where drift is found, by its name in the API. */
export const DRIFT_REACTIONS = {
  report: DriftRule_Reaction.REACTION_UNSPECIFIED,
  plan: DriftRule_Reaction.REACTION_PLAN,
  repair: DriftRule_Reaction.REACTION_REPAIR,
  accept: DriftRule_Reaction.REACTION_ACCEPT,
} as const;

/** Whether what follows is applied without an approval, where the project allows that. */
export function isAppliedReaction({ reaction }: Pick<DriftRule, "reaction">): boolean {
  return (
    reaction === DriftRule_Reaction.REACTION_REPAIR ||
    reaction === DriftRule_Reaction.REACTION_ACCEPT
  );
}

/** What the cause of a run that looks for drift begins with, and that of one that is to remove or to record it. */
export const DRIFT_CHECK = "drift-check:";
/** The same of a check from which nothing follows but what it found: who requested it may cause no apply. */
export const DRIFT_REPORT = `${DRIFT_CHECK}report:`;
export const DRIFT_REMEDY = "drift:";

/** The rule that a stack is checked by: its own, or that of its project; undefined where it is not checked. */
export function driftRuleOf(
  drift: Pick<StackDrift, "rule"> | undefined,
  project: Pick<Project, "drift"> | undefined,
): DriftRule | undefined {
  const rule = drift?.rule ?? project?.drift;
  // A rule of no minutes was damaged, or is of a release that has other rules.
  return rule === undefined || rule.paused || rule.everyMinutes === 0 ? undefined : rule;
}

/**
 * The first check of a stack after a moment. The checks of a stack are as far apart as its rule says, and begin somewhere in that time that
 * follows from its id: stacks of one rule are spread over it, and stay where they are.
 */
function nextCheck(
  { everyMinutes }: Pick<DriftRule, "everyMinutes">,
  stack: string,
  afterMs: number,
): number {
  const every = Math.max(MIN_DRIFT_MINUTES, everyMinutes) * 60_000;
  const offset = createHash("sha256").update(stack).digest().readUIntBE(0, 6) % every;
  return (Math.floor((afterMs - offset) / every) + 1) * every + offset;
}

/** A check that is due: of all objects, or of those of one part of the rule. */
export interface DueCheck {
  /** Place of the part in the rule; undefined for a check of all objects. */
  readonly part: number | undefined;
  readonly atMs: number;
}

type NextChecks = Pick<StackDrift, "nextAtMs" | "partNextAtMs">;

/** The check that is due the longest; one of all objects before parts, which it covers. */
export function dueCheck(
  { parts }: Pick<DriftRule, "parts">,
  { nextAtMs, partNextAtMs }: NextChecks,
  nowMs: number,
): DueCheck | undefined {
  if (nextAtMs !== 0n && Number(nextAtMs) <= nowMs) {
    return { part: undefined, atMs: Number(nextAtMs) };
  }
  const due = parts.flatMap((_, part) => {
    const atMs = Number(partNextAtMs[part] ?? 0n);
    return atMs !== 0 && atMs <= nowMs ? [{ part, atMs }] : [];
  });
  return due.toSorted((a, b) => a.atMs - b.atMs)[0];
}

/** Whether it was not decided when all of it is due, or by a longer rule than it has now. */
export function isUnnoted(
  { everyMinutes, parts }: Pick<DriftRule, "everyMinutes" | "parts">,
  { nextAtMs, partNextAtMs }: NextChecks,
  nowMs: number,
): boolean {
  const isOff = (atMs: bigint | undefined, minutes: number): boolean =>
    atMs === undefined || atMs === 0n || Number(atMs) > nowMs + minutes * 60_000;
  return (
    isOff(nextAtMs, everyMinutes) ||
    partNextAtMs.length !== parts.length ||
    parts.some((part, at) => isOff(partNextAtMs[at], part.everyMinutes))
  );
}

/** The next checks after one of all objects, which is one of each part, too, or after one of a part. */
export function nextChecks(
  rule: Pick<DriftRule, "everyMinutes" | "parts">,
  stack: string,
  nowMs: number,
  former?: NextChecks & { readonly part: number },
): NextChecks {
  const next = (part: Pick<DriftRule, "everyMinutes">): bigint =>
    BigInt(nextCheck(part, stack, nowMs));
  if (former === undefined) {
    return { nextAtMs: next(rule), partNextAtMs: rule.parts.map(next) };
  }
  return {
    nextAtMs: former.nextAtMs,
    partNextAtMs: rule.parts.map((part, at) =>
      at === former.part ? next(part) : (former.partNextAtMs[at] ?? next(part)),
    ),
  };
}

/** When the next check is, of all objects or of a part; 0 before it was decided. */
export function nextOfAll({ nextAtMs, partNextAtMs }: NextChecks): bigint {
  return partNextAtMs.reduce((least, one) => (one !== 0n && one < least ? one : least), nextAtMs);
}

/** Whether objects of a type are of a part of a rule. */
export function isOfPart({ types }: Pick<DriftPart, "types">, type: string): boolean {
  return types.some((pattern) => matchesStack(pattern, type));
}
