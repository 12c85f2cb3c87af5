import type { StackStatus } from "@stackwright/client";

/** What keeps the plans of a stack from being applied now; undefined where nothing does, or it has ended by itself. */
export function activeFreeze(
  { freeze }: Pick<StackStatus, "freeze">,
  nowMs: number,
): StackStatus["freeze"] {
  if (freeze?.until !== undefined && Date.parse(freeze.until) <= nowMs) return undefined;
  return freeze;
}

/** What is frozen: a whole project, or one stack of it. */
export interface Frozen {
  readonly project: string;
  /** Undefined: the project. */
  readonly stack: string | undefined;
  readonly freeze: NonNullable<StackStatus["freeze"]>;
}

/** Each freeze that is in force once, those of projects first. */
export function frozenPlaces(stacks: readonly StackStatus[], nowMs: number): readonly Frozen[] {
  const found = new Map<string, Frozen>();
  for (const status of stacks) {
    const freeze = activeFreeze(status, nowMs);
    if (freeze === undefined) continue;
    const { project } = status;
    const stack = freeze.of === "stack" ? status.name : undefined;
    found.set(`${project}/${stack ?? ""}`, { project, stack, freeze });
  }
  const ofStack = ({ stack }: Frozen): number => (stack === undefined ? 0 : 1);
  return [...found.values()].toSorted((left, right) => ofStack(left) - ofStack(right));
}

/** `project shop`, or `shop/prod`. */
export function frozenName({ project, stack }: Pick<Frozen, "project" | "stack">): string {
  return stack === undefined ? `project ${project}` : `${project}/${stack}`;
}
