import type { LogLine, RunProblem, RunProgress, RunStep } from "./run-progress.ts";

/** Lines of an address that are shown with its failure. */
const MAX_LINES = 12;

/** A step that failed by itself, with what it held up. */
export interface Failure {
  readonly step: RunStep;
  readonly problems: readonly RunProblem[];
  /** The last lines of its address. */
  readonly lines: readonly LogLine[];
  /** Steps that were skipped because of it. */
  readonly skipped: readonly RunStep[];
}

interface Failures {
  /** In the order of causes: first what held most up, then what failed first. */
  readonly failures: readonly Failure[];
  /** What is wrong with no step of these. */
  readonly otherProblems: readonly RunProblem[];
  /** Steps of which it is not known what became of them. */
  readonly unresolved: readonly RunStep[];
}

const OWN = new Set(["failed", "tainted", "unresolved"]);

/** Why an apply did not do all that was planned. */
export function failuresOf({
  steps,
  lines,
  problems,
}: Pick<RunProgress, "steps" | "lines" | "problems">): Failures {
  const skipped = Map.groupBy(
    steps.filter(({ status }) => status === "skipped"),
    ({ cause }) => cause ?? "",
  );
  const own = steps.filter(({ status }) => OWN.has(status));
  const heldUp = ({ address }: RunStep): number => skipped.get(address)?.length ?? 0;
  const failures = own
    .toSorted((a, b) => heldUp(b) - heldUp(a) || (a.endMs ?? 0) - (b.endMs ?? 0))
    .map((step) => ({
      step,
      problems: problems.filter(({ address }) => address === step.address),
      lines: lines.filter(({ address }) => address === step.address).slice(-MAX_LINES),
      skipped: skipped.get(step.address) ?? [],
    }));
  const addresses = new Set(own.map(({ address }) => address));
  return {
    failures,
    otherProblems: problems.filter(
      ({ address }) => address === undefined || !addresses.has(address),
    ),
    unresolved: steps.filter(({ status }) => status === "unresolved"),
  };
}
