import type { Run } from "@stackwright/client";
import { Link } from "@tanstack/react-router";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { stackPath } from "../use-place.ts";

interface RunTableProps {
  readonly runs: readonly Run[];
  readonly place: { readonly project: string; readonly stack: string };
  readonly isBrief?: boolean;
}

export function RunTable({ runs, place, isBrief = false }: RunTableProps) {
  return (
    <TableScroll>
      <table className="list">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Phase</th>
            <th scope="col">Changed</th>
            {!isBrief && <th scope="col">Author</th>}
            {!isBrief && <th scope="col">Message</th>}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <th scope="row">
                {run.mode === "command" ? (
                  <span className="quiet">by command</span>
                ) : (
                  <Link to={`${stackPath(place)}/r/${run.id}`}>#{run.number}</Link>
                )}
              </th>
              <td>
                <PhaseBadge phase={run.phase} />
              </td>
              <td>
                <Time at={run.updated_at} />
              </td>
              {!isBrief && <td>{run.actor}</td>}
              {!isBrief && <td className="wide">{run.message}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
