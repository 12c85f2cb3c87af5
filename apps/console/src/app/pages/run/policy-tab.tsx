import type { PolicyResults, Run } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Empty, Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";

interface PolicyTabProps {
  readonly run: Run;
  readonly place: { readonly project: string; readonly stack: string };
}

/** What policies said about the plan of a run, and who let it pass in spite of them. */
export function PolicyTab({ run, place }: PolicyTabProps) {
  const { client } = useServer();
  const { project, stack } = place;
  const query = useQuery({
    queryKey: ["policies", project, stack, run.id, run.plan_digest, run.phase],
    queryFn: async ({ signal }) =>
      (await client.showPolicyResults({ project, stack, run: run.id }, { signal })).data,
  });
  return (
    <Loaded query={query} what="policies">
      {(results) => <Results results={results} />}
    </Loaded>
  );
}

function Results({ results: { sets, override } }: { readonly results: PolicyResults }) {
  if (sets.length === 0) {
    return (
      <Empty title="No policies judged the plan of this run">
        <p>Policy sets that are for this stack judge each of its plans.</p>
      </Empty>
    );
  }
  return (
    <>
      {override !== undefined && (
        <p className="reason">
          <strong>{override.actor}</strong> let the plan pass <Time at={override.at} />:{" "}
          <q>{override.reason}</q>
        </p>
      )}
      {sets.map(({ set, enforcement, outcome, findings, cut, error }) => (
        <section key={set} aria-label={`Policy set ${set}`}>
          <h2>
            {set} <span className={outcome === "passed" ? "" : "bad"}>{outcome}</span>{" "}
            <small>{enforcement}</small>
          </h2>
          {error !== undefined && <p className="problem">{error}</p>}
          <ul className="plain-list">
            {findings.map(({ rule, message, address, warning }) => (
              <li key={`${rule}\0${address ?? ""}\0${message}`}>
                {warning ? "warns: " : <strong className="bad">forbids: </strong>}
                {message} {address !== undefined && <code>{address}</code>}
              </li>
            ))}
          </ul>
          {cut > 0 && <p>And {cut} more, for which there was no room.</p>}
        </section>
      ))}
    </>
  );
}
