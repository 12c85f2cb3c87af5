import { bodyLines, type Diff } from "@stackwright/plan-view/lines";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Empty, Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { DiffText } from "../../plan/diff-text.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { RevisionRun } from "./revision-run.tsx";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

interface Range {
  readonly from?: number;
  readonly to?: number;
}

/** Comparisons of now with how it was then. */
const SPANS = [
  ["Last 24 hours", 86_400_000],
  ["Last 7 days", 7 * 86_400_000],
] as const;

const WORDS = { created: "was created", updated: "was updated", deleted: "was destroyed" } as const;
const SIGNS = { created: "+", updated: "~", deleted: "-" } as const;
const ACTIONS = { created: "create", updated: "update", deleted: "delete" } as const;

/** The revisions of a stack, and what changed between any two of them. */
export function HistoryTab() {
  const place = useStackPlace();
  const { client } = useServer();
  useRefreshOnChange(place, ["revisions"]);
  const query = useQuery({
    queryKey: ["revisions", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.listRevisions(place, { signal })).data,
  });
  return (
    <Loaded query={query} what="history">
      {({ revisions }) =>
        revisions.length === 0 ? (
          <Empty title="There is no history yet">
            <p>Each run that changes the state adds a revision.</p>
          </Empty>
        ) : (
          <Revisions revisions={revisions} />
        )
      }
    </Loaded>
  );
}

interface Revision {
  readonly revision: number;
  readonly run: string;
  readonly finished_at: string;
  readonly changed: number;
  readonly complete: boolean;
}

function rangeOf({ from, to }: Readonly<Partial<Record<keyof Range, string>>>): Range {
  return {
    ...(from !== undefined && { from: Number(from) }),
    ...(to !== undefined && { to: Number(to) }),
  };
}

function Revisions({ revisions }: { readonly revisions: readonly Revision[] }) {
  const place = useStackPlace();
  const navigate = useNavigate();
  const search = rangeOf(useFilters());
  const newest = revisions[0]?.revision ?? 0;
  const to = revisions.some(({ revision }) => revision === search.to) ? (search.to ?? 0) : newest;
  const chosen = revisions.find(({ revision }) => revision === to);
  const before = revisions.find(({ revision }) => revision < to)?.revision ?? 0;
  const isKnown = search.from === 0 || revisions.some(({ revision }) => revision === search.from);
  const from = isKnown && search.from !== undefined && search.from < to ? search.from : before;
  const choose = (range: Range): void =>
    void navigate({ to: ".", search: { from, to, ...range }, replace: true });
  return (
    <>
      <div className="filters">
        <label>
          Compare{" "}
          <select value={from} onChange={(event) => choose({ from: Number(event.target.value) })}>
            {[...revisions.map(({ revision }) => revision).filter((one) => one < to), 0].map(
              (one) => (
                <option key={one} value={one}>
                  {one === 0 ? "nothing" : `revision ${one}`}
                </option>
              ),
            )}
          </select>
        </label>
        <label>
          with{" "}
          <select
            value={to}
            onChange={(event) => {
              const next = Number(event.target.value);
              const older = revisions.find(({ revision }) => revision < next)?.revision ?? 0;
              choose({ to: next, from: from < next ? from : older });
            }}
          >
            {revisions.map(({ revision }) => (
              <option key={revision} value={revision}>
                revision {revision}
              </option>
            ))}
          </select>
        </label>
        {SPANS.map(([label, ms]) => {
          const older = revisions.find((one) => Date.parse(one.finished_at) < Date.now() - ms);
          return (
            <button
              key={label}
              type="button"
              onClick={() => choose({ from: older?.revision ?? 0, to: newest })}
            >
              {label}
            </button>
          );
        })}
      </div>
      <div className="columns wide-right">
        <section aria-labelledby="revisions">
          <h2 id="revisions">Revisions</h2>
          <ul className="plain-list">
            {revisions.map(({ revision, run, finished_at, changed, complete }) => (
              <li key={revision} className={revision === to ? "chosen" : ""}>
                <button
                  type="button"
                  className="link"
                  onClick={() => {
                    const older = revisions.find((one) => one.revision < revision)?.revision ?? 0;
                    choose({ to: revision, from: older });
                  }}
                >
                  {revision}
                </button>
                <span>
                  {changed} {changed === 1 ? "object" : "objects"}
                </span>
                <span className="quiet">
                  <Time at={finished_at} />
                </span>
                {!complete && <span className="badge attention">interrupted</span>}
                {/^[0-9A-Z]{26}$/.test(run) && <Link to={`${stackPath(place)}/r/${run}`}>run</Link>}
              </li>
            ))}
          </ul>
        </section>
        <div>
          {chosen !== undefined && /^[0-9A-Z]{26}$/.test(chosen.run) && (
            <RevisionRun
              key={chosen.run}
              revision={to}
              run={chosen.run}
              isPast={to < newest && chosen.complete}
            />
          )}
          <Comparison from={from} to={to} />
        </div>
      </div>
    </>
  );
}

function Comparison({ from, to }: { readonly from: number; readonly to: number }) {
  const place = useStackPlace();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["compare", place.project, place.stack, from, to],
    queryFn: async ({ signal }) =>
      (await client.compareRevisions({ ...place, from, to }, { signal })).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section aria-labelledby="comparison">
      <h2 id="comparison">
        {from === 0 ? `All that revision ${to} has` : `From revision ${from} to ${to}`}
      </h2>
      <Loaded query={query} what="comparison">
        {({ changes }) =>
          changes.length === 0 ? (
            <p className="quiet">The objects of both are equal.</p>
          ) : (
            <>
              {changes.slice(0, 500).map((one) => (
                <details
                  key={`${one.address}${one.deposed ?? ""}`}
                  className={`change ${ACTIONS[one.change]}`}
                  open={changes.length <= 10}
                >
                  <summary>
                    <span className="sign" aria-hidden="true">
                      {SIGNS[one.change]}
                    </span>
                    {one.address} {WORDS[one.change]}
                  </summary>
                  <DiffText lines={bodyLines(one.body as unknown as Diff)} />
                </details>
              ))}
              {changes.length > 500 && (
                <p className="quiet">The first 500 of {changes.length} are shown.</p>
              )}
            </>
          )
        }
      </Loaded>
    </section>
  );
}
