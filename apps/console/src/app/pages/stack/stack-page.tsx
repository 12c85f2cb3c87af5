import { useQuery } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { useState, useSyncExternalStore } from "react";
import { DriftBadge } from "../../parts/drift-badge.tsx";
import { FreezeBadge } from "../../parts/freeze-badge.tsx";
import { Mark } from "../../parts/mark.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Loaded, ProblemBox } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { stackQuery } from "./stack-queries.ts";
import { StartRunDialog } from "./start-run-dialog.tsx";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

/** What surrounds the pages of one stack: its state, its actions, its tabs. */
export function StackPage() {
  const place = useStackPlace();
  const { project, stack } = place;
  const { client, stacks, followAgain, caller } = useServer();
  const [isStarting, setStarting] = useState(false);
  useRefreshOnChange(place, ["stack"]);
  const query = useQuery(stackQuery(client, place));
  const { stacks: all, isLoaded, error } = useSyncExternalStore(stacks.subscribe, stacks.snapshot);
  const status = all.find((one) => one.project === project && one.name === stack);
  const run = status?.current ?? status?.newest;
  const base = stackPath(place);
  const isAllowed = mayDo(caller, "deployer", project);
  return (
    <>
      <PageHead
        title={`${project}/${stack}`}
        actions={
          query.data !== undefined && (
            <button
              type="button"
              className="primary"
              disabled={!isAllowed}
              title={isAllowed ? undefined : "This needs the role registry:deployer."}
              onClick={() => setStarting(true)}
            >
              Plan…
            </button>
          )
        }
      >
        <p className="facts">
          {run !== undefined && <PhaseBadge phase={run.phase} />}
          {run === undefined && isLoaded && query.data !== undefined && <span>never applied</span>}
          {status !== undefined && status.waiting > 0 && <span>{status.waiting} waiting</span>}
          {status?.lock !== undefined && (
            <span className="badge attention">
              <Mark shape="diamond" />
              locked by {status.lock.actor}: {status.lock.reason}
            </span>
          )}
          {status !== undefined && <FreezeBadge stack={status} />}
          {status !== undefined && <DriftBadge stack={status} />}
          {status !== undefined && status.outdated.length > 0 && (
            <span className="badge attention">
              <Mark shape="triangle" />
              outputs of {status.outdated.join(", ")} have changed
            </span>
          )}
        </p>
      </PageHead>
      {error !== undefined && <ProblemBox error={error} retry={followAgain} />}
      <Loaded query={query} what="stack">
        {() => (
          <>
            <Tabs
              label="Stack"
              items={[
                { to: base, label: "Overview", exact: true },
                { to: `${base}/resources`, label: "Resources" },
                { to: `${base}/graph`, label: "Graph" },
                { to: `${base}/outputs`, label: "Outputs" },
                { to: `${base}/variables`, label: "Variables" },
                { to: `${base}/runs`, label: "Runs" },
                { to: `${base}/history`, label: "History" },
                { to: `${base}/drift`, label: "Drift" },
                { to: `${base}/tool`, label: "Tool" },
                { to: `${base}/settings`, label: "Settings" },
              ]}
            />
            <Outlet />
            {isStarting && <StartRunDialog place={place} onClose={() => setStarting(false)} />}
          </>
        )}
      </Loaded>
    </>
  );
}
