import {
  bodyLines,
  type ChangeView,
  countsText,
  driftText,
  foldText,
  type GroupEntry,
  hasOutputChange,
  headText,
  isEmpty,
  type Listed,
  moveTexts,
  namedLines,
  noChangesText,
  type PlanView,
  partialText,
  type RiskClass,
  reasonTexts,
  shownDrift,
  signOf,
  stageTexts,
  warningTexts,
} from "@stackwright/plan-view/lines";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useId, useMemo, useState } from "react";
import { Empty, Loaded, NoMatch } from "../parts/states.tsx";
import { useKept } from "../parts/use-kept.ts";
import { useServer } from "../session/server-context.tsx";
import { DiffText } from "./diff-text.tsx";
import { PlanDependents } from "./plan-dependents.tsx";
import { planViewQuery } from "./plan-view-query.ts";

const RISKS: Readonly<Record<RiskClass, string>> = {
  "data-loss": "Can lose data",
  high: "High risk",
  destructive: "Destroys or replaces",
  notable: "Worth a look",
  ordinary: "Ordinary",
};

/** Entries that are shown of a group at first: more cost time that the rest of the page needs. */
const STEP = 100;

/** A plan with so few entries is shown as a whole. */
const FEW = 6;

interface PlanTabProps {
  readonly place: { readonly project: string; readonly stack: string; readonly run: string };
  readonly planDigest: string | undefined;
  /** The run is still to make its plan. */
  readonly isComing: boolean;
  /** It is the only plan of its page, whose address has its filters. */
  readonly isOne?: boolean;
}

/** The plan of a run for a decision: risk first, reasons with every change, the rest folded. */
export function PlanTab({ place, planDigest, isComing, isOne = false }: PlanTabProps) {
  if (planDigest === undefined) {
    return (
      <Empty title={isComing ? "The plan is being made" : "This run has no plan"}>
        <p>{isComing ? "It appears here by itself." : "The log says why."}</p>
      </Empty>
    );
  }
  return <StoredPlan place={place} digest={planDigest} isOne={isOne} />;
}

function StoredPlan({
  place,
  digest,
  isOne,
}: {
  readonly place: PlanTabProps["place"];
  readonly digest: string;
  readonly isOne: boolean;
}) {
  const { client } = useServer();
  const query = useQuery(planViewQuery(client, place, digest));
  return (
    <Loaded query={query} what="plan">
      {(view) => (
        <>
          <PlanDependents place={place} digest={digest} />
          <PlanViewer view={view} isOne={isOne} />
        </>
      )}
    </Loaded>
  );
}

/** A sentence about a plan with its list. */
function NoteList({ head, items, more }: Listed) {
  return (
    <div className="note">
      {head}
      <ul>
        {items.map((text) => (
          <li key={text}>{text}</li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </div>
  );
}

/** The actions that a plan can be filtered by. */
function shownActions({ changes }: PlanView): PlanView["changes"][number]["action"][] {
  return [...new Set(changes.map(({ action }) => action))].filter((name) => name !== "no-op");
}

/** A view of a plan, whatever it is of. */
function PlanViewer({ view, isOne }: { readonly view: PlanView; readonly isOne: boolean }) {
  // A page may show several plans.
  const id = useId();
  const [text, setText] = useKept(isOne ? "q" : undefined);
  const [chosen, setAction] = useKept(isOne ? "action" : undefined);
  const actions = shownActions(view);
  // An address may say anything.
  const action = actions.find((name) => name === chosen) ?? "";
  const wanted = useDeferredValue(text).trim().toLowerCase();
  const groups = useMemo(() => filterGroups(view, wanted, action), [view, wanted, action]);
  const found = groups.reduce((sum, { entries }) => sum + entries.length, 0);
  const outputs = view.outputs.filter(hasOutputChange);
  const drift = shownDrift(view);
  const [partial, stage, moves] = [partialText(view), stageTexts(view), moveTexts(view)];
  if (isEmpty(view)) {
    return (
      <>
        <Empty title="No changes">{noChangesText(view).replace(/^No changes\. /, "")}</Empty>
        {stage && <NoteList {...stage} />}
      </>
    );
  }
  return (
    <>
      <p className="counts">
        <strong>{countsText(view.summary)}</strong>
        <span className="quiet">
          base revision {view.revision}, plan <code>{view.planDigest.slice(0, 12)}</code>
        </span>
      </p>
      {partial && <p className="note">{partial}</p>}
      {stage && <NoteList {...stage} />}
      {moves && <NoteList {...moves} />}
      {warningTexts(view).map((warning) => (
        <p key={warning} className="note attention">
          {warning}
        </p>
      ))}
      {view.rootCauses.length > 0 && (
        <details className="card">
          <summary>Root causes ({view.rootCauses.length})</summary>
          <ul>
            {view.rootCauses.slice(0, 50).map(({ address, explains }) => (
              <li key={address}>
                <code>{address}</code> explains {explains} {explains === 1 ? "change" : "changes"}
              </li>
            ))}
          </ul>
        </details>
      )}
      {view.changes.length > 3 && (
        <div className="filters" role="search">
          <input
            type="search"
            aria-label="Filter changes"
            placeholder="Filter by address or type"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <select
            aria-label="Filter by action"
            value={action}
            onChange={(event) => setAction(event.target.value)}
          >
            <option value="">all actions</option>
            {actions.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <span className="quiet" role="status">
            {wanted !== "" || action !== "" ? `${found} found` : ""}
          </span>
        </div>
      )}
      {groups.map(({ risk, entries }) => (
        <RiskGroup
          key={risk}
          view={view}
          risk={risk}
          entries={entries}
          isOpen={
            found <= FEW || ((risk === "data-loss" || risk === "high") && entries.length <= 20)
          }
        />
      ))}
      {found === 0 && view.groups.length > 0 && (
        <NoMatch
          title="No change matches the filter"
          clear={() => {
            setText("");
            setAction("");
          }}
        />
      )}
      {outputs.length > 0 && (
        <section aria-labelledby={`${id}-outputs`}>
          <h2 id={`${id}-outputs`}>Outputs</h2>
          <DiffText lines={outputs.flatMap(({ name, body }) => namedLines(name, body))} />
        </section>
      )}
      {drift.length > 0 && (
        <section aria-labelledby={`${id}-drift`}>
          <h2 id={`${id}-drift`}>Changed outside</h2>
          {drift.map((one) => (
            <details key={`${one.address}${one.deposed ?? ""}`} className="change">
              <summary>{driftText(one)}</summary>
              <DiffText lines={bodyLines(one.body)} />
            </details>
          ))}
        </section>
      )}
    </>
  );
}

interface ShownGroup {
  readonly risk: RiskClass;
  readonly entries: readonly GroupEntry[];
}

function filterGroups(view: PlanView, text: string, action: string): readonly ShownGroup[] {
  if (text === "" && action === "") return view.groups;
  const isWanted = (position: number): boolean => {
    const change = view.changes[position];
    if (change === undefined || (action !== "" && change.action !== action)) return false;
    return change.address.toLowerCase().includes(text);
  };
  return view.groups
    .map(({ risk, entries }) => ({
      risk,
      entries: entries.flatMap((entry) => {
        const changes = entry.changes.filter(isWanted);
        return changes.length === 0 ? [] : [{ ...entry, changes }];
      }),
    }))
    .filter(({ entries }) => entries.length > 0);
}

interface RiskGroupProps extends ShownGroup {
  readonly view: PlanView;
  /** Whether its changes are shown with their content at first. */
  readonly isOpen: boolean;
}

function RiskGroup({ view, risk, entries, isOpen }: RiskGroupProps) {
  const [limit, setLimit] = useState(STEP);
  const id = useId();
  return (
    <section className={`risk ${risk}`} aria-labelledby={id}>
      <h2 id={id}>
        {RISKS[risk]} ({entries.length})
      </h2>
      {entries.slice(0, limit).map((entry) => (
        <Entry key={entry.changes[0]} view={view} entry={entry} isOpen={isOpen} />
      ))}
      {entries.length > limit && (
        <button type="button" onClick={() => setLimit(limit + STEP * 5)}>
          Show {Math.min(entries.length - limit, STEP * 5)} of {entries.length - limit} more
        </button>
      )}
    </section>
  );
}

interface EntryProps {
  readonly view: PlanView;
  readonly entry: GroupEntry;
  readonly isOpen: boolean;
}

/** One change, or several that are alike. Its lines are made when it is opened. */
function Entry({ view, entry, isOpen: isOpenAtFirst }: EntryProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [isUnfolded, setUnfolded] = useState(false);
  const change = view.changes[entry.changes[0] ?? -1];
  if (change === undefined) return null;
  const isFolded = entry.changes.length > 1;
  return (
    <details
      className={`change ${change.action}`}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <span className="sign" aria-hidden="true">
          {signOf(change)}
        </span>
        <span className="head">
          {headText(change)}
          {isFolded && <span className="badge quiet">{entry.changes.length} alike</span>}
        </span>
      </summary>
      {isOpen && (
        <>
          {isFolded && <p className="quiet">{foldText(view, entry)}</p>}
          <ChangeBody change={change} />
          {isFolded && (
            <details onToggle={(event) => setUnfolded(event.currentTarget.open)}>
              <summary>All {entry.changes.length}</summary>
              {isUnfolded && (
                <ul className="columns-list">
                  {entry.changes.slice(0, 1000).map((position) => (
                    <li key={position}>
                      <code>{view.changes[position]?.address}</code>
                    </li>
                  ))}
                </ul>
              )}
            </details>
          )}
        </>
      )}
    </details>
  );
}

function ChangeBody({ change }: { readonly change: ChangeView }) {
  const reasons = reasonTexts(change);
  const lines = useMemo(
    () => bodyLines(change.body, { replacePaths: change.replacePaths }),
    [change],
  );
  return (
    <>
      {reasons.length > 0 && (
        <ul className="reasons">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
      <DiffText lines={lines} />
    </>
  );
}
