import { isClientError, type Operations, type Run } from "@stackwright/client";
import { printable } from "../terminal/printable.ts";
import type { ServerStack } from "./run-place.ts";

type Dependent = Operations["ListPlanDependents"]["output"]["stacks"][number];

/** Stacks that a run shows; the JSON form of the answer has more. */
const SHOWN = 20;

/** The stacks that depend on outputs which the plan of a run changes; nothing where there are none. */
export async function dependentLines(
  { client, place }: Pick<ServerStack, "client" | "place">,
  { id: run }: Pick<Run, "id">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  try {
    const { data } = await client.listPlanDependents({ ...place, run }, { signal });
    const { stacks, more } = data;
    if (stacks.length === 0) return [];
    const rest = stacks.length - SHOWN;
    return [
      "Stacks that depend on outputs which the plan changes:",
      ...stacks.slice(0, SHOWN).map((one) => `  ${printable(textOf(one))}`),
      ...(rest > 0 ? [`  and ${rest} more`] : more ? ["  and more"] : []),
    ];
  } catch (error) {
    // A server of an older release does not say; one that begins to work does not know yet, and the plan is shown nevertheless.
    if (isClientError(error, "not_found", "store_unavailable")) return [];
    throw error;
  }
}

function textOf({ project, stack, outputs, triggered, through }: Dependent): string {
  const between = through.map((one) => `${one.project}/${one.stack}`);
  const parts = [
    ...(outputs.length === 0 ? [] : [`reads ${outputs.join(", ")}`]),
    ...(between.length === 0 ? [] : [`through ${between.join(", ")}`]),
    ...(triggered ? ["a run is requested"] : []),
  ];
  return `${project}/${stack}${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}
