import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Mark } from "../../parts/mark.tsx";
import { Time } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import type { useStalePlan } from "./use-stale-plan.ts";

interface StalePlanNoteProps {
  readonly stale: NonNullable<ReturnType<typeof useStalePlan>>;
  readonly place: { readonly project: string; readonly stack: string };
}

/** Says that a plan cannot be approved any more, as the state is another one, and who changed it. */
export function StalePlanNote({ stale: { revision, run: id }, place }: StalePlanNoteProps) {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["run", place.project, place.stack, id],
    queryFn: async ({ signal }) => (await client.showRun({ ...place, run: id }, { signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data: run } = query;
  return (
    <p className="note attention" role="alert">
      <Mark shape="triangle" /> This plan is out of date and cannot be approved: the state is at
      revision {revision} by now
      {run !== undefined && (
        <>
          , by {run.actor} <Time at={run.updated_at} />
          {run.number > 0 ? (
            <>
              {" "}
              with <Link to={`${stackPath(place)}/r/${id}`}>run {run.number}</Link>
            </>
          ) : (
            " with a command"
          )}
        </>
      )}
      . Plan again to see what is left to do.
    </p>
  );
}
