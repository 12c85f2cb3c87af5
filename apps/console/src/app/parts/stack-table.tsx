import type { StackStatus } from "@stackwright/client";
import { Link } from "@tanstack/react-router";
import { DriftBadge } from "./drift-badge.tsx";
import { FreezeBadge } from "./freeze-badge.tsx";
import { Mark } from "./mark.tsx";
import { PhaseBadge } from "./phase-badge.tsx";
import { StuckBadge } from "./stuck-badge.tsx";
import { TableScroll } from "./table-scroll.tsx";
import { Time } from "./time.tsx";

/** Rows that are drawn; more are named by their number. */
const MAX_ROWS = 500;

/** Stacks with how each is at a glance. */
export function StackTable({ stacks }: { readonly stacks: readonly StackStatus[] }) {
  return (
    <>
      <TableScroll>
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Stack</th>
              <th scope="col">State</th>
              <th scope="col">Last run</th>
              <th scope="col">Remarks</th>
            </tr>
          </thead>
          <tbody>
            {stacks.slice(0, MAX_ROWS).map((stack) => (
              <StackRow key={stack.id} stack={stack} />
            ))}
          </tbody>
        </table>
      </TableScroll>
      {stacks.length > MAX_ROWS && (
        <p className="quiet">
          The first {MAX_ROWS} of {stacks.length} are shown; filter to see others.
        </p>
      )}
    </>
  );
}

function StackRow({ stack }: { readonly stack: StackStatus }) {
  const { project, name, current, newest, waiting, lock, outdated } = stack;
  const run = current ?? newest;
  const at = `/p/${project}/s/${name}`;
  return (
    <tr>
      <th scope="row">
        <Link to={at}>
          <span className="quiet">{project}/</span>
          {name}
        </Link>
      </th>
      <td>
        {run === undefined ? (
          <span className="quiet">never applied</span>
        ) : (
          <>
            <PhaseBadge phase={run.phase} /> <StuckBadge why={run.stuck} />
          </>
        )}
      </td>
      <td>
        {run !== undefined && (
          <>
            {run.number === 0 ? (
              <span className="quiet">by command</span>
            ) : (
              <Link to={`${at}/r/${run.id}`}>#{run.number}</Link>
            )}{" "}
            <span className="quiet">
              <Time at={run.at} />
            </span>
          </>
        )}
      </td>
      <td>
        {waiting > 0 && <span className="badge quiet">{waiting} waiting</span>}
        {lock !== undefined && (
          <span className="badge attention" title={`${lock.actor}: ${lock.reason}`}>
            <Mark shape="diamond" />
            locked
          </span>
        )}
        <FreezeBadge stack={stack} />
        <DriftBadge stack={stack} />
        {outdated.length > 0 && (
          <span className="badge attention" title={outdated.join(", ")}>
            <Mark shape="triangle" />
            outdated by {outdated[0]}
            {outdated.length > 1 && ` and ${outdated.length - 1} more`}
          </span>
        )}
      </td>
    </tr>
  );
}
