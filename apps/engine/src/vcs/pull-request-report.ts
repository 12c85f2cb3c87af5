import { isEnded } from "@stackwright/core";
import { countsText } from "@stackwright/plan-view/lines";
import {
  type PlanSummary,
  type VcsConnection,
  type VcsPullRequest,
  VcsPullRequest_State,
} from "@stackwright/proto/stackwright";
import { isServerError } from "../domain/server-error.ts";
import { policyMarkdown } from "../policy/policy-markdown.ts";
import { blockOf } from "../policy/policy-verdict.ts";
import { kindOf, policyOf } from "./connection-kind.ts";
import type { CommitStatus } from "./provider/vcs-provider.ts";
import { readText } from "./read-text.ts";
import type { ShownRun } from "./shown-run.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";

/** Bytes of a comment: servers take a little more. */
const MAX_COMMENT_BYTES = 60_000;
/** Plans that are shown in full; the table has all. */
const MAX_SHOWN = 40;
/** Bytes of what is said about applies, and about each. */
const MAX_REASONS_BYTES = 12_000;
const MAX_REASON_BYTES = 1_000;
/** The smallest that a plan is cut to. */
const SMALLEST_PLAN = 1_500;

interface Report {
  readonly text: string;
  readonly statuses: readonly CommitStatus[];
}

/** What is said about a pull request: one comment with the plans of all stacks, and the statuses of its commit. */
export async function reportOf(
  parts: VcsParts,
  open: OpenConnection,
  pull: VcsPullRequest,
  plans: readonly ShownRun[],
  applies: readonly ShownRun[],
): Promise<Report> {
  const statuses = statusesOf(open, pull, plans, applies);
  const lines = [
    open.markerOf(pull.id),
    `## Stackwright: ${titleOf(pull, plans)}`,
    "",
    ...tableOf(plans, applies),
    ...(pull.note === "" ? [] : [pull.note, ""]),
    ...reasonsOf(open, applies),
  ];
  const end = endOf(open, pull);
  let left = MAX_COMMENT_BYTES - Buffer.byteLength(`${lines.join("\n")}\n${end}`) - 200;
  const shown = plans.slice(0, MAX_SHOWN);
  for (const [at, plan] of shown.entries()) {
    const share = Math.floor(left / (shown.length - at));
    if (share < SMALLEST_PLAN) break;
    const section = await sectionOf(parts, open, plan, share);
    if (section === "") continue;
    lines.push(section, "");
    left -= Buffer.byteLength(section) + 2;
  }
  return { text: `${[...lines, end].join("\n")}\n`, statuses };
}

function titleOf({ tree, fork }: VcsPullRequest, plans: readonly ShownRun[]): string {
  if (fork) return "pull requests from forks are not planned";
  if (tree === "") return "the branches conflict";
  if (plans.length === 0) return "no stack is affected";
  return plans.length === 1 ? "1 stack is affected" : `${plans.length} stacks are affected`;
}

function tableOf(plans: readonly ShownRun[], applies: readonly ShownRun[]): readonly string[] {
  if (plans.length === 0) return [];
  const applied = new Map(applies.map((one) => [one.stack, one]));
  const isApplied = applies.length > 0;
  return [
    `| Stack | Plan |${isApplied ? " Apply |" : ""}`,
    `| --- | --- |${isApplied ? " --- |" : ""}`,
    ...plans.map((plan) => {
      const apply = applied.get(plan.stack);
      const cell = apply === undefined ? "" : `${resultOf(apply)}${numberOf(apply)}`;
      return `| \`${plan.stack}\` | ${resultOf(plan)}${numberOf(plan)}${comparisonOf(plan)} |${isApplied ? ` ${cell} |` : ""}`;
    }),
    "",
  ];
}

function numberOf({ run }: ShownRun): string {
  return run === undefined ? "" : `, run ${run.number}`;
}

/** Whether the engine plans the same as the tool of the stack. */
function comparisonOf({ comparison }: ShownRun): string {
  if (comparison === undefined) return "";
  const { differing } = comparison.comparison;
  switch (comparison.outcome) {
    case "pending":
      return "; shadow: in progress";
    case "equal":
      return "; shadow: equal";
    case "different":
      return `; shadow: ${differing} ${differing === 1 ? "difference" : "differences"}`;
    case "failed":
      return "; shadow: no plan";
    default:
      return comparison.outcome satisfies never;
  }
}

/** How a run stands, in a few words of this server. */
function resultOf(shown: ShownRun): string {
  const { phase, summary, problem } = shown;
  if (phase === undefined) return "not possible";
  if (phase === "no_changes") return "no changes";
  if (phase === "plan_finished" && summary !== undefined) {
    const policies = isRefused(shown) ? "; policies forbid it" : "";
    return `${countsOf(summary)}${policies}`;
  }
  if (phase === "policy_failed") return "policies forbid it, unless they are overridden";
  if (phase === "awaiting_approval") {
    return problem === "" ? "waits for approval" : "waits for approval on the server";
  }
  return phase.replaceAll("_", " ");
}

function countsOf(summary: PlanSummary): string {
  const { create, update, replace, delete: removed, import: imported, move, forget } = summary;
  const objects = create + update + replace + removed + imported + move + forget;
  return objects === 0 ? "changes of outputs" : countsText(summary);
}

async function sectionOf(
  parts: VcsParts,
  { reference: { project }, signal }: OpenConnection,
  shown: ShownRun,
  limitBytes: number,
): Promise<string> {
  const { stack, phase, summary, policies } = shown;
  const reason = reasonOf(shown);
  if (reason !== "") {
    return `### ${project}/${stack}\n\n${fenced(reason, limitBytes - 200)}`;
  }
  if (phase !== "plan_finished" || summary === undefined) return "";
  const judged = policies === undefined ? "" : policyMarkdown(policies, limitBytes / 4);
  const view = await readText(parts.blobs, summary.viewSha256, signal);
  if (view === undefined) return "";
  try {
    const title = `${project}/${stack}`;
    const left = limitBytes - Buffer.byteLength(judged);
    const form = { form: "markdown", title, limitBytes: left } as const;
    return `${await parts.renderer.render(view, form, signal)}${judged}`;
  } catch (error) {
    signal.throwIfAborted();
    // What passes by itself is tried again, and is not said for good.
    if (isServerError(error) && error.retryable) throw error;
    return `### ${project}/${stack}\n\n${fenced((error as Error).message, 1_000)}`;
  }
}

/** Why a run ended without an effect, or why it waits; empty where there is nothing to say. */
function reasonOf({ phase, run, problem }: ShownRun): string {
  const hasEnded = phase === "failed" || phase === "discarded";
  // What was in the way before its end is of no interest then.
  return hasEnded && run !== undefined && run.reason !== "" ? run.reason : problem;
}

/** Why applies wait, or ended without an effect. */
function reasonsOf(
  { reference: { project } }: OpenConnection,
  applies: readonly ShownRun[],
): readonly string[] {
  const lines: string[] = [];
  let left = MAX_REASONS_BYTES;
  for (const apply of applies) {
    const reason = reasonOf(apply);
    if (reason === "") continue;
    const section = `### Apply of ${project}/${apply.stack}\n\n${fenced(reason, MAX_REASON_BYTES)}`;
    left -= Buffer.byteLength(section);
    if (left < 0) break;
    lines.push(section, "");
  }
  return lines;
}

/** A text of others as code: nothing in it is Markdown, a mention or the end of the fence. */
function fenced(text: string, limitBytes: number): string {
  // What is not printed, and what changes the direction of the text.
  const clean = text.replaceAll(/[^\P{C}\n]/gu, " ");
  const cut = Buffer.from(clean).subarray(0, Math.max(0, limitBytes)).toString("utf8");
  const longest = Math.max(2, ...[...cut.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${cut}\n${fence}`;
}

function endOf({ connection, reference }: OpenConnection, pull: VcsPullRequest): string {
  const { head, base, baseCommit, state, fork } = pull;
  if (fork) return "Push the branch into the repository itself to have it planned.";
  const at = `Commit \`${head.slice(0, 10)}\` with \`${base}\` at \`${baseCommit.slice(0, 10)}\`.`;
  if (state !== VcsPullRequest_State.STATE_OPEN) return at;
  const policy = policyOf(connection.apply);
  const hosted = connection.repository !== "";
  const texts = [
    at,
    ...(hosted ? ["A comment `stackwright plan` plans again."] : []),
    policy === "on_comment"
      ? "A comment `stackwright apply` applies the plans."
      : policy === "on_merge"
        ? mergeText(connection)
        : `Plans of merged commits are approved on the server: \`stackwright runs approve --stack ${reference.project}/STACK\`.`,
  ];
  return texts.join(" ");
}

function mergeText({ kind, requiredReviews: reviews }: VcsConnection): string {
  if (reviews === 0 || kindOf(kind) === "generic") {
    return "The merge applies the plans, if they are still the same then.";
  }
  const needed = reviews === 1 ? "an approving review" : `${reviews} approving reviews`;
  return `The merge applies the plans, if they are still the same then and the newest commit has ${needed}.`;
}

function statusesOf(
  { reference: { project } }: OpenConnection,
  pull: VcsPullRequest,
  plans: readonly ShownRun[],
  applies: readonly ShownRun[],
): readonly CommitStatus[] {
  const { head, mergeCommit, fork, tree } = pull;
  if (fork) {
    const description = "pull requests from forks are not planned";
    return [{ commit: head, context: "stackwright/plan", state: "success", description }];
  }
  if (tree === "") {
    const description = "the branches conflict";
    return [{ commit: head, context: "stackwright/plan", state: "failure", description }];
  }
  const commit = mergeCommit === "" ? head : mergeCommit;
  return [
    ...group(head, "stackwright/plan", project, plans, "no stack is affected"),
    ...(applies.length === 0 ? [] : group(commit, "stackwright/apply", project, applies, "")),
  ];
}

/** One status for each stack, and one for all. */
function group(
  commit: string,
  context: string,
  project: string,
  runs: readonly ShownRun[],
  none: string,
): readonly CommitStatus[] {
  const single = runs.map((one) => ({
    commit,
    context: `${context}: ${project}/${one.stack}`.slice(0, 200),
    state: stateOf(one),
    description: resultOf(one).slice(0, 140),
  }));
  const worst = (["error", "failure", "pending"] as const).find((state) =>
    single.some((one) => one.state === state),
  );
  const done = single.filter(({ state }) => state !== "pending").length;
  const description =
    runs.length === 0
      ? none
      : `${done} of ${runs.length} ${runs.length === 1 ? "stack" : "stacks"} done`;
  return [{ commit, context, state: worst ?? "success", description }, ...single];
}

/** Whether policies would not let the plan be applied by itself. */
function isRefused({ policies }: ShownRun): boolean {
  return policies !== undefined && blockOf(policies) !== "none";
}

function stateOf(shown: ShownRun): CommitStatus["state"] {
  const { phase } = shown;
  if (phase === undefined) return "error";
  if (phase === "plan_finished" && isRefused(shown)) return "failure";
  if (!isEnded(phase)) return "pending";
  return ["plan_finished", "no_changes", "applied"].includes(phase) ? "success" : "failure";
}
