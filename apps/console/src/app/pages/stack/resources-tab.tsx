import type { Shown } from "@stackwright/plan-view/lines";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useDeferredValue, useMemo, useRef, useState } from "react";
import { AddressText } from "../../parts/address-text.tsx";
import { Mark } from "../../parts/mark.tsx";
import { ShownText } from "../../parts/shown-text.tsx";
import { Empty, Loaded, NoMatch } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { useKept } from "../../parts/use-kept.ts";
import { useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";
import { stateQuery } from "./stack-queries.ts";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

const ROW_PX = 34;

interface Resource {
  readonly address: string;
  readonly deposed?: string | undefined;
  readonly mode: string;
  readonly type: string;
  readonly provider: string;
  readonly phase: string;
  readonly revision: number;
  readonly depends_on: readonly string[];
}

/** The resources of a stack: a list that stays quick with ten thousand of them, and one in detail. */
export function ResourcesTab() {
  const place = useStackPlace();
  const { client } = useServer();
  useRefreshOnChange(place, ["state"]);
  const query = useQuery(stateQuery(client, place));
  return (
    <Loaded query={query} what="resources">
      {({ resources }) =>
        resources.length === 0 ? (
          <Empty title="This stack has no resources">
            <p>They appear here once a run has created them.</p>
          </Empty>
        ) : (
          <Resources resources={resources} />
        )
      }
    </Loaded>
  );
}

function Resources({ resources }: { readonly resources: readonly Resource[] }) {
  const { address: chosen } = useFilters<{ address: string }>();
  const navigate = useNavigate();
  const [text, setText] = useKept("q");
  const wanted = useDeferredValue(text).trim().toLowerCase();
  const found = useMemo(() => resources.filter((one) => isMatch(one, wanted)), [resources, wanted]);
  const choose = (address: string | undefined): void =>
    void navigate({
      to: ".",
      // Without a value a name is not in the address.
      search: (all: object) => ({ ...all, address }),
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <div className="filters" role="search">
        <input
          type="search"
          aria-label="Filter resources"
          placeholder="address, type:aws_*, status:tainted"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <span className="quiet" role="status">
          {found.length === resources.length
            ? `${resources.length} resources`
            : `${found.length} of ${resources.length}`}
        </span>
      </div>
      <div className={chosen === undefined ? "" : "split"}>
        {found.length === 0 ? (
          <NoMatch title="No resource matches the filter" clear={() => setText("")} />
        ) : (
          <ResourceList resources={found} chosen={chosen} choose={choose} />
        )}
        {chosen !== undefined && (
          <ResourceDetail
            key={chosen}
            address={chosen}
            readBy={resources.filter(
              (one) =>
                one.depends_on.includes(chosen.replace(/\[[^[]*\]$/, "")) ||
                one.depends_on.includes(chosen),
            )}
            choose={choose}
          />
        )}
      </div>
    </>
  );
}

interface ResourceListProps {
  readonly resources: readonly Resource[];
  readonly chosen: string | undefined;
  readonly choose: (address: string) => void;
}

function ResourceList({ resources, chosen, choose }: ResourceListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const rows = useVirtualizer({
    count: resources.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(resources.length - 1, to));
    setActive(next);
    rows.scrollToIndex(next);
  };
  const onKey = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + 10,
      PageUp: active - 10,
      Home: 0,
      End: resources.length - 1,
    };
    const to = moves[event.key];
    if (to !== undefined) {
      event.preventDefault();
      move(to);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const resource = resources[active];
      if (resource !== undefined) choose(resource.address);
    }
  };
  const rowId = (index: number): string => `resource-${index}`;
  return (
    <div
      ref={scroll}
      className="virtual-list"
      role="listbox"
      aria-label="Resources"
      aria-activedescendant={rowId(active)}
      tabIndex={0}
      onKeyDown={onKey}
    >
      <div style={{ height: rows.getTotalSize(), position: "relative" }} role="presentation">
        {rows.getVirtualItems().map(({ index, start }) => {
          const resource = resources[index];
          if (resource === undefined) return null;
          const { address, deposed, type, phase } = resource;
          const name = deposed === undefined ? address : `${address} (deposed ${deposed})`;
          return (
            <div
              key={`${address}${deposed ?? ""}`}
              id={rowId(index)}
              role="option"
              aria-selected={chosen === address}
              aria-setsize={resources.length}
              aria-posinset={index + 1}
              className={index === active ? "row active" : "row"}
              style={{ transform: `translateY(${start}px)`, height: ROW_PX }}
              onClick={() => {
                setActive(index);
                choose(address);
              }}
            >
              <span className="hidden">
                {[name, type, ...(phase === "ready" ? [] : [phase])].join(" ")}
              </span>
              <span className="address" title={name} aria-hidden="true">
                <AddressText address={address} />
                {deposed !== undefined && <span className="quiet"> (deposed {deposed})</span>}
              </span>
              <span className="quiet type" aria-hidden="true">
                {type}
              </span>
              <PhaseOf phase={phase} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function PhaseOf({ phase }: { readonly phase: string }) {
  if (phase === "ready") return null;
  const isBad = phase === "tainted" || phase === "unresolved";
  return (
    <span className={`badge ${isBad ? "bad" : "active"}`} aria-hidden="true">
      <Mark shape={isBad ? "triangle" : "half"} />
      {phase}
    </span>
  );
}

interface ResourceDetailProps {
  readonly address: string;
  readonly readBy: readonly Resource[];
  readonly choose: (address: string | undefined) => void;
}

function ResourceDetail({ address, readBy, choose }: ResourceDetailProps) {
  const place = useStackPlace();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["state", place.project, place.stack, "resource", address],
    queryFn: async ({ signal }) =>
      (await client.showResource({ ...place, address }, { signal })).data,
  });
  return (
    <section className="card detail" aria-label={address}>
      <div className="section-head">
        <h2>{address}</h2>
        <button type="button" onClick={() => choose(undefined)}>
          Close
        </button>
      </div>
      <Loaded query={query} what="resource">
        {({ type, provider, phase, revision, depends_on: dependsOn, attributes, observed_at }) => (
          <>
            <p className="facts">
              <code>{type}</code>
              <span>{provider}</span>
              <span>{phase}</span>
              <span>written with revision {revision}</span>
              <span>
                read <Time at={observed_at} />
              </span>
            </p>
            {attributes !== undefined && <ShownText value={attributes as unknown as Shown} />}
            <Addresses title="Depends on" addresses={dependsOn} choose={choose} />
            <Addresses
              title="Needed by"
              addresses={readBy.map((one) => one.address)}
              choose={choose}
            />
          </>
        )}
      </Loaded>
    </section>
  );
}

interface AddressesProps {
  readonly title: string;
  readonly addresses: readonly string[];
  readonly choose: (address: string) => void;
}

function Addresses({ title, addresses, choose }: AddressesProps) {
  if (addresses.length === 0) return null;
  return (
    <>
      <h3>
        {title} ({addresses.length})
      </h3>
      <ul className="plain-list">
        {addresses.slice(0, 100).map((address) => (
          <li key={address}>
            <button type="button" className="link" onClick={() => choose(address)}>
              {address}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Words are parts of the address; `type:` and `status:` are patterns with `*`. */
function isMatch({ address, type, phase }: Resource, text: string): boolean {
  return text
    .split(/\s+/)
    .filter((word) => word !== "")
    .every((word) => {
      if (word.startsWith("type:")) return matchesPattern(type, word.slice(5));
      if (word.startsWith("status:")) return matchesPattern(phase, word.slice(7));
      return address.toLowerCase().includes(word) || type.includes(word);
    });
}

function matchesPattern(value: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[^\w-]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}`).test(value);
}
