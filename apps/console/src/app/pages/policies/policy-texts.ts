import type { Operations, PolicySet } from "@stackwright/client";

export type ReplayResult = Operations["ReplayPolicies"]["output"];
type ReplayedRun = ReplayResult["runs"][number];

/** The version that judges plans now; undefined before the first upload. */
export function activeVersion({ version, versions }: PolicySet) {
  return versions.find(({ digest }) => digest === version);
}

/** `projects web, ops; stacks prod-*` */
export function patternsText({ projects, stacks }: Pick<PolicySet, "projects" | "stacks">): string {
  const of = (what: string, names: readonly string[]): string =>
    names.length === 0 ? `all ${what}` : `${what} ${names.join(", ")}`;
  return projects.length + stacks.length === 0
    ? "all stacks"
    : `${of("stacks", stacks)} of ${of("projects", projects)}`;
}

/** Whether a plan is judged otherwise than it was; one that was not judged, by whether it does not pass. */
export function isJudgedAnew({ before, outcome }: ReplayedRun): boolean {
  return before === undefined ? outcome !== "passed" : before !== outcome;
}

/** `12 plans: 9 pass, 2 fail, 1 cannot be judged; 3 are judged otherwise than before` */
export function replayText({ runs }: ReplayResult): string {
  const count = (outcome: ReplayedRun["outcome"]): number =>
    runs.filter((run) => run.outcome === outcome).length;
  const parts = [
    `${count("passed")} pass`,
    `${count("failed")} fail`,
    ...(count("errored") > 0 ? [`${count("errored")} cannot be judged`] : []),
  ];
  const anew = runs.filter(isJudgedAnew).length;
  const plans = runs.length === 1 ? "1 plan" : `${runs.length} plans`;
  return `${plans}: ${parts.join(", ")}; ${anew} judged otherwise than before`;
}
