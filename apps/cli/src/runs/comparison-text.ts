import { isClientError, type Operations, type Run } from "@stackwright/client";
import { printable } from "../terminal/printable.ts";
import type { ServerStack } from "./run-place.ts";

type Comparison = Operations["ShowPlanComparison"]["output"];

/** Differences that a run shows; the JSON form of the comparison has more. */
const SHOWN = 20;

/** How the plan of a run by a tool differs from that of the engine; nothing for other runs. */
export async function comparisonLines(
  { client, place, context }: ServerStack,
  run: Run,
): Promise<readonly string[]> {
  if (run.tool === "stackwright") return [];
  try {
    const target = { ...place, run: run.id };
    const { data } = await client.showPlanComparison(target, { signal: context.signal });
    return [`  ${"Shadow".padEnd(11)}${outcomeText(data)}`, ...differenceLines(data)];
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
    return [];
  }
}

function outcomeText({ outcome, compared, differing, reason }: Comparison): string {
  switch (outcome) {
    case "pending":
      return "the engine is making its plan";
    case "equal":
      return `the engine plans the same (${compared} objects and outputs compared)`;
    case "different":
      return `the engine plans ${differing} ${differing === 1 ? "thing" : "things"} differently`;
    case "failed":
      return `the engine has made no plan${reason === undefined ? "" : `: ${printable(reason)}`}`;
    default:
      return outcome satisfies never;
  }
}

function differenceLines({ differences, differing }: Comparison): readonly string[] {
  const shown = differences
    .slice(0, SHOWN)
    .map(
      ({ address, path, engine = "nothing", tool = "nothing" }) =>
        `    ${printable(`${address} ${path}: engine ${engine}, tool ${tool}`)}`,
    );
  const rest = differing - shown.length;
  return rest > 0 ? [...shown, `    and ${rest} more`] : shown;
}
