import type { LiveObject, LiveObjectRef, StackStatus } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import { Loaded } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useKept } from "../../parts/use-kept.ts";
import { useServer } from "../../session/server-context.tsx";

const REFRESH_MS = 1_000;
/** The collection that pages show stacks by. */
const STATUS = "stack status";
/** Names of a list that are shown; more are counted. */
const MAX_NAMED = 50;

interface WhyChangedProps {
  readonly stacks: readonly StackStatus[];
  /** Names of all collections. */
  readonly collections: readonly string[];
}

/** Why an object is what it is: from the status of a stack, or any other object, to the change that made it so. The address has it. */
export function WhyChanged({ stacks, collections }: WhyChangedProps) {
  const { client, caller } = useServer();
  const id = useId();
  const keyOf = (stack: StackStatus): string => `${caller.account}/${stack.project}/${stack.id}`;
  const [first] = stacks;
  const [collection, setCollection] = useKept("collection", STATUS);
  const [typed, setKey] = useKept("key");
  const key =
    typed === "" && collection === STATUS && first !== undefined ? keyOf(first) : typed.trim();
  const query = useQuery({
    queryKey: ["live-object", collection, key],
    queryFn: async ({ signal }) =>
      (await client.showLiveObject({ collection, key }, { signal })).data,
    enabled: key !== "",
    refetchInterval: REFRESH_MS,
  });
  const show = (object: LiveObjectRef): void => {
    setCollection(object.collection);
    setKey(object.key);
  };
  const stack = collection === STATUS ? stacks.find((one) => keyOf(one) === key) : undefined;
  return (
    <section aria-labelledby="why">
      <h2 id="why">Why did an object change?</h2>
      <div className="filters">
        <label htmlFor={`${id}-stack`}>Stack</label>
        <select
          id={`${id}-stack`}
          value={stack === undefined ? "" : key}
          onChange={(event) => show({ collection: STATUS, key: event.target.value })}
        >
          {stack === undefined && <option value="">another object</option>}
          {stacks.map((one) => (
            <option key={one.id} value={keyOf(one)}>
              {one.project}/{one.name}
            </option>
          ))}
        </select>
        <label htmlFor={`${id}-collection`}>Collection</label>
        <select
          id={`${id}-collection`}
          value={collection}
          onChange={(event) => show({ collection: event.target.value, key })}
        >
          {[...new Set([collection, ...collections])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <label htmlFor={`${id}-key`}>Key</label>
        <input
          id={`${id}-key`}
          type="search"
          spellCheck={false}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      </div>
      {key !== "" && (
        <Loaded query={query} what={`explanation of ${collection} ${key}`}>
          {(object) => <Explanation object={object} show={show} />}
        </Loaded>
      )}
    </section>
  );
}

interface ExplanationProps {
  readonly object: LiveObject;
  readonly show: (object: LiveObjectRef) => void;
}

function Explanation({ object, show }: ExplanationProps) {
  const { present, derived_from: derived, dependants, events } = object;
  return (
    <>
      {!present && <p>There is no object with this key now.</p>}
      {derived === undefined ? (
        <p>It is not derived from others: the store feeds this collection.</p>
      ) : (
        <Derivation derived={derived} show={show} />
      )}
      <List label={present ? "What depends on it" : "What waits for it"} count={dependants.length}>
        {dependants.slice(0, MAX_NAMED).map((one) => (
          <li key={`${one.collection} ${one.key}`}>
            <ObjectName object={one} show={show} />
          </li>
        ))}
      </List>
      <List label="Its last changes" count={events.length}>
        {events.slice(0, MAX_NAMED).map(({ type, turn, at }, place) => (
          <li key={`${turn} ${events.length - place}`}>
            {type} <span className="quiet">in turn {turn}</span> <Time at={at} />
          </li>
        ))}
      </List>
    </>
  );
}

function Derivation({
  derived,
  show,
}: {
  readonly derived: NonNullable<LiveObject["derived_from"]>;
  readonly show: ExplanationProps["show"];
}) {
  const { turn, cause, waits_for: waitsFor, failure, dependencies } = derived;
  return (
    <>
      <p>
        It was last derived in turn {turn ?? 0},{" "}
        {cause === undefined ? (
          "as a collection came into sync"
        ) : (
          <>
            as <ObjectName object={cause} show={show} /> changed
          </>
        )}
        .
      </p>
      {waitsFor !== undefined && (
        <p className="note attention">It waits until {waitsFor} is in sync with the store.</p>
      )}
      {failure !== undefined && (
        <p className="note attention">
          Its derivation failed: <code>{failure}</code>
        </p>
      )}
      <List label="What it reads" count={dependencies.length}>
        {dependencies.map(({ collection, filters, matches }) => (
          <li key={`${collection} ${filters}`}>
            looks up <strong>{collection}</strong>{" "}
            <span className="quiet">
              {filters === "" ? "" : `by ${filters}, `}
              {matches === 1 ? "1 object" : `${matches} objects`}
            </span>
          </li>
        ))}
      </List>
    </>
  );
}

/** Leads to what made an object what it is, and on from there. Objects of other accounts have no key. */
function ObjectName({
  object,
  show,
}: {
  readonly object: LiveObjectRef;
  readonly show: ExplanationProps["show"];
}) {
  const { collection, key } = object;
  if (key === "") return <strong>{collection}</strong>;
  return (
    <button type="button" className="link" onClick={() => show(object)}>
      {collection} <code>{key}</code>
    </button>
  );
}

interface ListProps {
  readonly label: string;
  readonly count: number;
  readonly children: ReactNode;
}

/** Nothing where there is nothing to list. */
function List({ label, count, children }: ListProps) {
  if (count === 0) return null;
  return (
    <>
      <h3>
        {label} ({count})
      </h3>
      <ul className="plain-list" aria-label={label}>
        {children}
      </ul>
      {count > MAX_NAMED && <p className="quiet">and {count - MAX_NAMED} more</p>}
    </>
  );
}
