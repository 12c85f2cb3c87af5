import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { RollBackDialog } from "./roll-back-dialog.tsx";

interface RevisionRunProps {
  readonly revision: number;
  readonly run: string;
  /** There is a newer revision. */
  readonly isPast: boolean;
}

/** Who made a revision and why, and the way back to its configuration. */
export function RevisionRun({ revision, run: id, isPast }: RevisionRunProps) {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const [isOpen, setOpen] = useState(false);
  const query = useQuery({
    queryKey: ["run", place.project, place.stack, id],
    queryFn: async ({ signal }) => (await client.showRun({ ...place, run: id }, { signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={query} what="run">
      {(run) => (
        <>
          <div className="section-head">
            <p className="facts">
              {run.mode === "command" ? (
                <span>Revision {revision} was made by a command</span>
              ) : (
                <span>
                  Revision {revision} was made by{" "}
                  <Link to={`${stackPath(place)}/r/${run.id}`}>run {run.number}</Link>
                </span>
              )}
              <span>of {run.actor}</span>
              <Time at={run.updated_at} />
              {run.message !== "" && <q>{run.message}</q>}
              {run.approvals.length > 0 && (
                <span>approved by {run.approvals.map(({ actor }) => actor).join(", ")}</span>
              )}
            </p>
            {isPast && run.configuration !== "" && mayDo(caller, "deployer", place.project) && (
              <button type="button" onClick={() => setOpen(true)}>
                Plan to go back…
              </button>
            )}
          </div>
          {isPast && run.configuration === "" && (
            <p className="quiet">
              The server has no configuration of it, so that no run can go back to it.
            </p>
          )}
          {isOpen && (
            <RollBackDialog
              place={place}
              revision={revision}
              configuration={run.configuration}
              onClose={() => setOpen(false)}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
