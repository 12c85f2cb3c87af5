import type { Run } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { planViewQuery } from "../../plan/plan-view-query.ts";
import { useServer } from "../../session/server-context.tsx";
import { useRefreshOnChange } from "../stack/use-refresh-on-change.ts";

interface StalePlan {
  /** The newest revision, which is not the one that the plan was made from. */
  readonly revision: number;
  /** The run that made it. */
  readonly run: string;
}

/** What changed the state since the plan was made that waits for a decision; undefined where nothing did. */
export function useStalePlan(
  run: Run | undefined,
  place: { readonly project: string; readonly stack: string },
): StalePlan | undefined {
  const { client } = useServer();
  const { project, stack } = place;
  useRefreshOnChange(place, ["newest-revision"]);
  // A plan of another tool is compared with the state by that tool.
  const isOpen = run?.phase === "awaiting_approval" && run.tool === "stackwright";
  const newest = useQuery({
    queryKey: ["newest-revision", project, stack],
    queryFn: async ({ signal }) =>
      (await client.listRevisions({ ...place, limit: 1 }, { signal })).data.revisions[0] ?? null,
    enabled: isOpen,
  });
  const view = useQuery({
    ...planViewQuery(client, { ...place, run: run?.id ?? "" }, run?.plan_digest ?? ""),
    enabled: isOpen && run.plan_digest !== undefined,
  });
  const { data: last } = newest;
  if (!isOpen || last === null || last === undefined || view.data === undefined) return undefined;
  return last.revision > Number(view.data.revision)
    ? { revision: last.revision, run: last.run }
    : undefined;
}
