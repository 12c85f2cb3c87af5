import type { Operations } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { Mark } from "../../parts/mark.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { stackPath } from "../use-place.ts";
import { changeText, type SchemaChange, typeTitle } from "./schema-change-text.ts";

type Compared = Operations["ListSchemaChanges"]["output"];

/** Rows that are drawn; more are named by their number. */
const MAX_ROWS = 500;

interface SchemaChangesProps {
  /** Names the comparisons of one provider. */
  readonly provider: string;
  /** The newest first. */
  readonly versions: readonly string[];
  readonly compare: (
    versions: { readonly from: string; readonly to: string },
    signal: AbortSignal,
  ) => Promise<Compared>;
  /** What is said where there is one version. */
  readonly alone: string;
  /** What is said of a version in the address that is none of these. */
  readonly missing: (version: string) => string;
}

/** What changed between two versions of a provider: what breaks configurations first, and the stacks that it is about. */
export function SchemaChanges({ provider, versions, compare, alone, missing }: SchemaChangesProps) {
  const navigate = useNavigate();
  const id = useId();
  const [newest = "", former = ""] = versions;
  const { from = former, to = newest } = useFilters<{ from: string; to: string }>();
  const isChosen = from !== to && versions.includes(from) && versions.includes(to);
  const query = useQuery({
    queryKey: ["schema-changes", provider, from, to],
    queryFn: async ({ signal }) => compare({ from, to }, signal),
    enabled: isChosen,
  });
  const unknown = [from, to].filter((one) => one !== "" && !versions.includes(one));
  if (versions.length < 2 && unknown.length === 0) return <p className="quiet">{alone}</p>;
  const choose = (chosen: { readonly from: string; readonly to: string }): void =>
    void navigate({ to: ".", search: chosen, replace: true });
  const select = (name: string, value: string, onChoose: (version: string) => void) => (
    <>
      <label htmlFor={`${id}-${name}`}>{name}</label>
      <select id={`${id}-${name}`} value={value} onChange={(event) => onChoose(event.target.value)}>
        {[...new Set([...versions, ...unknown])].map((version) => (
          <option key={version}>{version}</option>
        ))}
      </select>
    </>
  );
  return (
    <>
      <div className="filters">
        {select("From", from, (version) => choose({ from: version, to }))}
        {select("to", to, (version) => choose({ from, to: version }))}
      </div>
      {isChosen ? (
        <Loaded query={query} what="schemas of both versions">
          {(compared) => <Comparison compared={compared} />}
        </Loaded>
      ) : (
        <p className="quiet">
          {unknown[0] === undefined ? "Choose two versions that differ." : missing(unknown[0])}
        </p>
      )}
    </>
  );
}

function Comparison({ compared }: { readonly compared: Compared }) {
  const { changes, total, breaking } = compared;
  if (total === 0) {
    return (
      <Empty title="No change">
        <p>Both versions take the same configurations.</p>
      </Empty>
    );
  }
  const sorted = [
    ...changes.filter(({ breaks }) => breaks),
    ...changes.filter((one) => !one.breaks),
  ];
  return (
    <>
      <p className="counts" role="status">
        <strong>
          {total} {total === 1 ? "change" : "changes"}
        </strong>
        {breaking > 0 ? (
          <span className="badge bad">
            <Mark shape="triangle" />
            {breaking} may break a configuration
          </span>
        ) : (
          <span className="badge good">
            <Mark shape="check" />
            none breaks a configuration
          </span>
        )}
      </p>
      <TableScroll>
        <table className="list" aria-label="Changes of the schema">
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Change</th>
              <th scope="col">For configurations</th>
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, MAX_ROWS).map((one) => (
              <ChangeRow key={`${one.of} ${one.name} ${one.path} ${one.change}`} change={one} />
            ))}
          </tbody>
        </table>
      </TableScroll>
      {total > Math.min(sorted.length, MAX_ROWS) && (
        <p className="quiet">
          {Math.min(sorted.length, MAX_ROWS)} of {total} are shown.
        </p>
      )}
      <Uses compared={compared} />
    </>
  );
}

function ChangeRow({ change }: { readonly change: SchemaChange }) {
  const { path, breaks } = change;
  return (
    <tr>
      <th scope="row" className="wide">
        {typeTitle(change)}
        {path !== "" && (
          <>
            {" "}
            <code>{path}</code>
          </>
        )}
      </th>
      <td className="wide">{changeText(change)}</td>
      <td>
        {breaks && (
          <span className="badge bad">
            <Mark shape="triangle" />
            may break
          </span>
        )}
      </td>
    </tr>
  );
}

function Uses({ compared: { uses, more_uses: hasMore } }: { readonly compared: Compared }) {
  return (
    <>
      <h3>Stacks with objects of the changed types</h3>
      {uses.length === 0 ? (
        <p className="quiet">None that you may see.</p>
      ) : (
        <ul className="plain-list" aria-label="Stacks with objects of the changed types">
          {uses.slice(0, MAX_ROWS).map(({ project, stack, types }) => (
            <li key={`${project}/${stack}`}>
              <Link to={stackPath({ project, stack })}>
                {project}/{stack}
              </Link>
              {types.map(({ name, data, objects, breaks }) => (
                <span key={`${name} ${String(data)}`} className={breaks ? "badge bad" : "badge"}>
                  {breaks && <Mark shape="triangle" />}
                  {objects} {data ? "data " : ""}
                  {name}
                </span>
              ))}
            </li>
          ))}
        </ul>
      )}
      {(hasMore || uses.length > MAX_ROWS) && <p className="quiet">There are more stacks.</p>}
    </>
  );
}
