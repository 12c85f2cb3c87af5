import type { PolicySet } from "@stackwright/client";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { Mark, type MarkShape } from "../../parts/mark.tsx";
import { Empty, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { isJudgedAnew, type ReplayResult, replayText } from "./policy-texts.ts";

/** A replay ends by itself after two minutes; the answer takes a moment more. */
const TIMEOUT_MS = 150_000;
const MAX_RUNS = 100;

type Outcome = ReplayResult["runs"][number]["outcome"];

const OUTCOMES: Readonly<Record<Outcome, readonly [tone: string, shape: MarkShape, string]>> = {
  passed: ["good", "check", "passes"],
  failed: ["bad", "cross", "fails"],
  errored: ["bad", "triangle", "cannot be judged"],
};

interface PolicyReplayProps {
  readonly set: PolicySet;
  readonly isAllowed: boolean;
}

/** Lets a version judge the newest stored plans of the stacks of its set. Nothing is changed by it. */
export function PolicyReplay({ set, isAllowed }: PolicyReplayProps) {
  const { client } = useServer();
  const id = useId();
  const [version, setVersion] = useState(set.version ?? set.versions.at(-1)?.digest ?? "");
  const [runs, setRuns] = useState("50");
  const running = useRef<AbortController>(undefined);
  // Nobody waits for what it was left for.
  useEffect(() => () => running.current?.abort(), []);
  const replay = useMutation({
    mutationFn: async () => {
      const own = new AbortController();
      running.current = own;
      const body = { runs: Number(runs), version };
      const options = { signal: own.signal, timeoutMs: TIMEOUT_MS };
      return (await client.replayPolicies({ policy_set: set.name, body }, options)).data;
    },
  });
  const wasStopped = running.current?.signal.aborted === true;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    replay.mutate();
  };
  return (
    <section aria-labelledby="replay">
      <h2 id="replay">Replay</h2>
      <p className="quiet">
        How a version judges the newest stored plans of the stacks of this set. It changes nothing,
        and ends after two minutes with what was judged by then.
      </p>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={`${id}-version`}>Version</label>
        <select
          id={`${id}-version`}
          value={version}
          onChange={(event) => setVersion(event.target.value)}
        >
          {set.versions.toReversed().map(({ digest }) => (
            <option key={digest} value={digest}>
              {digest.slice(0, 12)}
              {digest === set.version && " (judges plans)"}
            </option>
          ))}
        </select>
        <label htmlFor={`${id}-runs`}>Newest plans</label>
        <input
          id={`${id}-runs`}
          type="number"
          min="1"
          max={MAX_RUNS}
          step="1"
          required
          value={runs}
          onChange={(event) => setRuns(event.target.value)}
        />
        <button
          type="submit"
          className="primary"
          disabled={!isAllowed || replay.isPending}
          title={isAllowed ? undefined : "This needs the role registry:deployer."}
        >
          {replay.isPending ? "Replaying…" : "Replay"}
        </button>
        {replay.isPending && (
          <button
            type="button"
            onClick={() => running.current?.abort(new Error("it was stopped here"))}
          >
            Stop
          </button>
        )}
      </form>
      {replay.error !== null &&
        (wasStopped ? (
          <p className="note" role="status">
            The replay was stopped. Nothing was changed.
          </p>
        ) : (
          <ProblemBox error={replay.error} retry={() => replay.mutate()} />
        ))}
      {replay.data !== undefined && !replay.isPending && <ReplayResults result={replay.data} />}
    </section>
  );
}

function ReplayResults({ result }: { readonly result: ReplayResult }) {
  const [isAnewOnly, setAnewOnly] = useState(false);
  const { runs, complete } = result;
  if (runs.length === 0 && complete) {
    return (
      <Empty title="There is no stored plan of a stack of this set">
        <p>Plans are stored for a time after their runs; then there is nothing to judge.</p>
      </Empty>
    );
  }
  const shown = isAnewOnly ? runs.filter(isJudgedAnew) : runs;
  return (
    <>
      <p className="counts" role="status">
        <strong>{replayText(result)}</strong>
        {complete ? (
          <span className="badge good">
            <Mark shape="check" />
            complete
          </span>
        ) : (
          <span className="badge attention">
            <Mark shape="triangle" />
            not complete: two minutes were over, older plans were not judged
          </span>
        )}
        <label className="check">
          <input
            type="checkbox"
            checked={isAnewOnly}
            onChange={(event) => setAnewOnly(event.target.checked)}
          />
          only what is judged otherwise
        </label>
      </p>
      {shown.length === 0 ? (
        <Empty title="No plan is judged otherwise than before" />
      ) : (
        <TableScroll>
          <table className="list" aria-label="Replayed plans">
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Before</th>
                <th scope="col">Now</th>
                <th scope="col">Findings</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((run) => (
                <ReplayedRow key={`${run.project} ${run.stack} ${run.run}`} run={run} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </>
  );
}

function ReplayedRow({ run }: { readonly run: ReplayResult["runs"][number] }) {
  const { project, stack, run: id, before, outcome, findings, cut, error } = run;
  return (
    <tr>
      <th scope="row">
        <Link to={`${stackPath({ project, stack })}/r/${id}`}>
          <span className="quiet">{project}/</span>
          {stack}
        </Link>{" "}
        <code className="quiet">{id.slice(-8)}</code>
      </th>
      <td data-label="before:">
        {before === undefined ? (
          <span className="quiet">not judged</span>
        ) : (
          <OutcomeBadge outcome={before} />
        )}
      </td>
      <td data-label="now:">
        <OutcomeBadge outcome={outcome} />
      </td>
      <td className="wide">
        {error !== undefined && <p className="bad">{error}</p>}
        {findings.length > 0 && (
          <details>
            <summary>
              {findings.length + cut} {findings.length + cut === 1 ? "finding" : "findings"}
            </summary>
            <ul className="plain-list">
              {findings.map(({ rule, message, address, warning }) => (
                <li key={`${rule} ${address ?? ""} ${message}`}>
                  {warning ? "warns: " : <strong className="bad">forbids: </strong>}
                  {message} {address !== undefined && <code>{address}</code>}
                </li>
              ))}
              {cut > 0 && <li>and {cut} more, for which there was no room</li>}
            </ul>
          </details>
        )}
      </td>
    </tr>
  );
}

function OutcomeBadge({ outcome }: { readonly outcome: Outcome }) {
  const [tone, shape, text] = OUTCOMES[outcome];
  return (
    <span className={`badge ${tone}`}>
      <Mark shape={shape} />
      {text}
    </span>
  );
}
