import type { StackDrift } from "@stackwright/client";
import { bodyLines, type DriftView } from "@stackwright/plan-view/lines";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { driftCounts } from "../../parts/drift-badge.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { DiffText } from "../../plan/diff-text.tsx";
import { planViewQuery } from "../../plan/plan-view-query.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { DriftRuleCard } from "./drift-rule-card.tsx";
import { type DriftedObject, keyOf } from "./drifted-objects.ts";
import { IgnoreDriftDialog } from "./ignore-drift-dialog.tsx";
import { IgnoredDrift } from "./ignored-drift.tsx";
import { StartRunDialog } from "./start-run-dialog.tsx";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

/** How often the result of a check that is in progress is asked for. */
const CHECK_MS = 2_000;

/** What was changed or deleted elsewhere, by the last check; what may be done about it; and when the stack is checked. */
export function DriftTab() {
  const place = useStackPlace();
  const { client } = useServer();
  useRefreshOnChange(place, ["drift"]);
  const query = useQuery({
    queryKey: ["drift", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.showDrift(place, { signal })).data,
    refetchInterval: ({ state }) => (state.data?.check === undefined ? false : CHECK_MS),
  });
  return (
    <Loaded query={query} what="drift">
      {(drift) => (
        <>
          <div className="columns">
            <LastCheck drift={drift} />
            <DriftRuleCard drift={drift} />
          </div>
          <DriftedObjects drift={drift} />
          <IgnoredDrift drift={drift} />
        </>
      )}
    </Loaded>
  );
}

function LastCheck({ drift }: { readonly drift: StackDrift }) {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const check = useMutation({
    mutationFn: async () => client.checkDrift(place),
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["drift", place.project, place.stack] }),
  });
  const runs = `${stackPath(place)}/r`;
  const isOpen = drift.check !== undefined;
  return (
    <section className="card" aria-labelledby="check">
      <h2 id="check">Last check</h2>
      <dl className="facts-list">
        <div>
          <dt>Result</dt>
          <dd>{resultText(drift)}</dd>
        </div>
        {drift.since !== undefined && (
          <div>
            <dt>Since</dt>
            <dd>
              <Time at={drift.since} />
            </dd>
          </div>
        )}
        {drift.checked_at !== undefined && (
          <div>
            <dt>Checked</dt>
            <dd>
              <Time at={drift.checked_at} />
              {drift.run !== undefined && (
                <>
                  , <Link to={`${runs}/${drift.run}`}>by this run</Link>
                </>
              )}
            </dd>
          </div>
        )}
        {drift.remedy !== undefined && (
          <div>
            <dt>Requested for it</dt>
            <dd>
              <Link to={`${runs}/${drift.remedy}`}>a run that removes the drift</Link>
            </dd>
          </div>
        )}
      </dl>
      {drift.problem !== undefined && <p className="note attention">{drift.problem}</p>}
      <div className="actions">
        {mayDo(caller, "planner", place.project) && (
          <button type="button" disabled={isOpen || check.isPending} onClick={() => check.mutate()}>
            Check now
          </button>
        )}
        <span role="status">
          {isOpen && (
            <>
              A check is in progress: <Link to={`${runs}/${drift.check ?? ""}`}>its run</Link>
            </>
          )}
        </span>
      </div>
      {check.error !== null && <ProblemBox error={check.error} />}
    </section>
  );
}

function resultText(drift: StackDrift): string {
  if (drift.checked_at === undefined) return "not checked yet";
  const { changed, deleted, ignored = 0 } = drift;
  const counted = changed + deleted === 0 ? "no drift" : `${driftCounts(drift)} elsewhere`;
  return ignored === 0 ? counted : `${counted}, ${ignored} ignored`;
}

function DriftedObjects({ drift }: { readonly drift: StackDrift }) {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const [mode, setMode] = useState<"apply" | "refresh_only">();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [ignoring, setIgnoring] = useState<readonly DriftedObject[]>();
  const { objects, run = "" } = drift;
  // A view of a plan says which; without it, as where it was removed by now, the names of the attributes remain.
  const view = useQuery({
    ...planViewQuery(client, { ...place, run }, ""),
    enabled: run !== "" && objects.length > 0,
  });
  if (drift.checked_at === undefined) {
    return (
      <Empty title="This stack was not checked yet">
        <p>A check compares the objects as they are with what is recorded, and changes nothing.</p>
      </Empty>
    );
  }
  const total = drift.changed + drift.deleted;
  if (total === 0) {
    return (
      <Empty title="No drift">
        <p>
          {drift.ignored === undefined
            ? "The objects of this stack are as they were recorded."
            : "Nothing differs beside what is ignored."}
        </p>
      </Empty>
    );
  }
  const isAllowed = mayDo(caller, "deployer", place.project);
  // What is counted no more since it was chosen is not meant.
  const meant = objects.filter((one) => chosen.has(keyOf(one)));
  const choose = (keys: readonly string[], isChosen: boolean): void => {
    const others = [...chosen].filter((one) => !keys.includes(one));
    setChosen(new Set(isChosen ? [...others, ...keys] : others));
  };
  return (
    <section aria-labelledby="drifted">
      <div className="section-head">
        <h2 id="drifted">Objects ({total})</h2>
        {isAllowed && (
          <div className="actions">
            <button type="button" onClick={() => setMode("apply")}>
              Plan to restore…
            </button>
            <button type="button" onClick={() => setMode("refresh_only")}>
              Plan to record…
            </button>
          </div>
        )}
      </div>
      {isAllowed && objects.length > 1 && (
        <div className="inline chosen-bar">
          <label className="check">
            <input
              type="checkbox"
              checked={meant.length === objects.length}
              onChange={(event) => choose(objects.map(keyOf), event.target.checked)}
            />
            Select all that are listed
          </label>
          <button
            type="button"
            disabled={meant.length === 0}
            onClick={() => setIgnoring(meant)}
          >{`Ignore ${meant.length} selected…`}</button>
        </div>
      )}
      {objects.map((one) => (
        <DriftedEntry
          key={keyOf(one)}
          object={one}
          view={view.data?.drift.find((each) => keyOf(each) === keyOf(one))}
          isChosen={chosen.has(keyOf(one))}
          onChoose={
            isAllowed && objects.length > 1
              ? (isChosen) => choose([keyOf(one)], isChosen)
              : undefined
          }
          onIgnore={isAllowed ? () => setIgnoring([one]) : undefined}
        />
      ))}
      {total > objects.length && (
        <p className="quiet">
          The first {objects.length} of {total} are listed;{" "}
          <Link to={`${stackPath(place)}/r/${run}`}>the plan of the check</Link> has all.
        </p>
      )}
      {mode !== undefined && (
        <StartRunDialog place={place} mode={mode} onClose={() => setMode(undefined)} />
      )}
      {ignoring !== undefined && (
        <IgnoreDriftDialog
          objects={ignoring}
          onClose={() => setIgnoring(undefined)}
          onIgnored={() => choose(ignoring.map(keyOf), false)}
        />
      )}
    </section>
  );
}

interface DriftedEntryProps {
  readonly object: DriftedObject;
  readonly view: DriftView | undefined;
  readonly isChosen: boolean;
  /** Undefined where nothing is chosen from. */
  readonly onChoose: ((isChosen: boolean) => void) | undefined;
  /** Undefined for callers who may not. */
  readonly onIgnore: (() => void) | undefined;
}

function DriftedEntry({ object, view, isChosen, onChoose, onIgnore }: DriftedEntryProps) {
  const place = useStackPlace();
  const { address, deposed, deleted, attributes, ignored_attributes: ignored = [] } = object;
  const lines = view === undefined ? [] : bodyLines(view.body);
  const name = deposed === undefined ? address : `${address} (deposed object ${deposed})`;
  return (
    <div className="choosable">
      {onChoose !== undefined && (
        <label className="check">
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            checked={isChosen}
            onChange={(event) => onChoose(event.target.checked)}
          />
        </label>
      )}
      <details className={`change ${deleted ? "delete" : "update"}`} open={lines.length <= 12}>
        <summary>
          <span className="sign" aria-hidden="true">
            {deleted ? "-" : "~"}
          </span>
          {name} {deleted ? "is gone" : "differs"}
          {attributes.length > 0 && <span className="quiet">: {attributes.join(", ")}</span>}
          {ignored.length > 0 && <span className="quiet"> (ignored: {ignored.join(", ")})</span>}
        </summary>
        <DiffText lines={lines} />
        <p className="inline">
          <Link to={`${stackPath(place)}/resources`} search={{ address }}>
            What is recorded
          </Link>
          {onIgnore !== undefined && (
            <button type="button" aria-label={`Ignore the drift of ${name}…`} onClick={onIgnore}>
              Ignore…
            </button>
          )}
        </p>
      </details>
    </div>
  );
}
