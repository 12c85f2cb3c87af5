import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, NoMatch } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { useKept } from "../../parts/use-kept.ts";
import { useServer } from "../../session/server-context.tsx";
import { AuditTabs } from "./audit-tabs.tsx";

interface AuditEntry {
  readonly id: string;
  readonly timeMs: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly requestId: string;
  readonly remoteAddress: string;
}

/** The audit trail of the registry, a day at a time. */
export function AuditPage() {
  const { registry } = useServer();
  const navigate = useNavigate();
  const today = new Date().toISOString().slice(0, 10);
  const { day = today } = useFilters<{ day: string }>();
  const [text, setText] = useKept("q");
  const query = useQuery({
    queryKey: ["audit", day],
    queryFn: async ({ signal }) =>
      registry.get<{ readonly entries: readonly AuditEntry[] }>(
        `/api/v1/registry/audit?day=${encodeURIComponent(day)}`,
        signal,
      ),
  });
  return (
    <>
      <PageHead title="Audit">
        <p className="quiet">What was changed or refused in the account, and who asked for it.</p>
      </PageHead>
      <AuditTabs />
      <div className="filters" role="search">
        <input
          type="date"
          aria-label="Day (UTC)"
          value={day}
          max={today}
          onChange={(event) => {
            if (event.target.value !== "") {
              void navigate({ to: ".", search: { day: event.target.value }, replace: true });
            }
          }}
        />
        <input
          type="search"
          aria-label="Filter entries"
          placeholder="Filter by actor, action or object"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <Loaded query={query} what="audit trail">
        {({ entries }) => {
          if (entries.length === 0) {
            return (
              <Empty title={`Nothing was changed on ${day}`}>
                <p>Days are those of UTC. Choose another one to see its entries.</p>
              </Empty>
            );
          }
          const wanted = text.trim().toLowerCase();
          const found = entries.filter(({ actor, action, target }) =>
            `${actor} ${action} ${target}`.toLowerCase().includes(wanted),
          );
          if (found.length === 0) {
            return <NoMatch title="No entry matches the filter" clear={() => setText("")} />;
          }
          return (
            <TableScroll>
              <table className="list">
                <thead>
                  <tr>
                    <th scope="col">Time</th>
                    <th scope="col">Actor</th>
                    <th scope="col">Action</th>
                    <th scope="col">Object</th>
                    <th scope="col">Result</th>
                    <th scope="col">Address</th>
                  </tr>
                </thead>
                <tbody>
                  {found.slice(0, 500).map((entry) => (
                    <tr key={entry.id}>
                      <td>
                        <time dateTime={new Date(entry.timeMs).toISOString()}>
                          {new Date(entry.timeMs).toLocaleTimeString()}
                        </time>
                      </td>
                      <td className="wide">{entry.actor}</td>
                      <td>{entry.action}</td>
                      <td className="wide">{entry.target}</td>
                      <td>{entry.outcome}</td>
                      <td>{entry.remoteAddress}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableScroll>
          );
        }}
      </Loaded>
    </>
  );
}
