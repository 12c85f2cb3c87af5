import type { ServerClient } from "@stackwright/client";
import type { PlanView } from "@stackwright/plan-view/lines";

interface RunPlace {
  readonly project: string;
  readonly stack: string;
  readonly run: string;
}

/** The view of the plan of a run. A plan never changes, so what was read stays valid. */
export function planViewQuery(
  client: Pick<ServerClient, "showPlanView">,
  place: RunPlace,
  digest: string,
) {
  return {
    queryKey: ["plan", place.project, place.stack, place.run, digest],
    queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<PlanView> =>
      (await client.showPlanView(place, { signal })).data as unknown as PlanView,
    staleTime: Number.POSITIVE_INFINITY,
  };
}
