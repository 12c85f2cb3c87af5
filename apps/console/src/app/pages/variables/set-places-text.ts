import type { AccountVariableSet } from "@stackwright/client";
import { patternsText } from "../policies/policy-texts.ts";

/** The pattern of a set that is for no stack. */
const NO_STACK = "/";
/** What a pattern ends with that is for a project with all of its stacks. */
const ALL_OF_PROJECT = "/*";

/** `stacks web/shop; all stacks of projects net`, of the patterns of a set of the account. */
export function setPlacesText({
  projects,
  stacks: patterns,
}: Pick<AccountVariableSet, "projects" | "stacks">): string {
  const stacks = patterns.filter((pattern) => pattern !== NO_STACK);
  if (patterns.length > 0 && stacks.length === 0) return "no stacks";
  // The projects bound all patterns of stacks.
  if (projects.length > 0) return patternsText({ projects, stacks });
  const named = stacks.filter((one) => one.includes("/") && !one.endsWith(ALL_OF_PROJECT));
  const whole = stacks
    .filter((pattern) => pattern.endsWith(ALL_OF_PROJECT))
    .map((pattern) => pattern.slice(0, -ALL_OF_PROJECT.length));
  const anywhere = stacks.filter((pattern) => !pattern.includes("/"));
  const parts = [
    ...(named.length > 0 ? [`stacks ${named.join(", ")}`] : []),
    ...(whole.length > 0 ? [patternsText({ projects: whole, stacks: [] })] : []),
    ...(anywhere.length > 0 ? [patternsText({ projects, stacks: anywhere })] : []),
  ];
  return parts.length === 0 ? patternsText({ projects, stacks }) : parts.join("; ");
}
