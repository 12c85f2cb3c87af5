import type { Finding } from "../../doctor/finding.ts";
import { timeOf } from "../runs/run-view.ts";

/** A finding as the API writes it. */
interface FindingView extends Omit<Finding, "sinceMs"> {
  readonly since?: string;
}

export function findingView({ sinceMs, ...rest }: Finding): FindingView {
  const { code, severity, project, stack, run, detail, advice } = rest;
  return {
    code,
    severity,
    ...(project !== undefined && { project }),
    ...(stack !== undefined && { stack }),
    ...(run !== undefined && { run }),
    ...(sinceMs !== undefined && { since: timeOf(BigInt(sinceMs)) }),
    detail,
    advice,
  };
}
