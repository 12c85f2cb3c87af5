import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Loaded, ProblemBox } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { Hooks } from "../hooks/hooks.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { DeleteStackCard } from "./delete-stack-card.tsx";
import { ProviderReactionCard } from "./provider-reaction-card.tsx";
import { stackQuery } from "./stack-queries.ts";
import { ToolCard } from "./tool-card.tsx";

type Hold = "lock" | "freeze";

const HOLDS = {
  lock: {
    title: "Lock",
    verb: "Lock…",
    end: "Unlock",
    role: "deployer",
    none: "This stack is not locked.",
    text: "Runs of a locked stack wait: none is planned or applied by a server.",
  },
  freeze: {
    title: "Freeze",
    verb: "Freeze…",
    end: "End the freeze",
    role: "admin",
    none: "This stack is not frozen.",
    text: "Plans of a frozen stack are made and approved, and none begins to be applied.",
  },
} as const;

/** What holds runs of a stack back, and what requests them by itself. */
export function SettingsTab() {
  const place = useStackPlace();
  const { caller } = useServer();
  return (
    <>
      <div className="columns">
        <HoldCard hold="lock" />
        <HoldCard hold="freeze" />
        <ToolCard />
        <Schedules />
        <Triggers />
        <ProviderReactionCard />
        <DeleteStackCard />
      </div>
      {mayDo(caller, "deployer", place.project) && <Hooks owner={place} />}
    </>
  );
}

function HoldCard({ hold }: { readonly hold: Hold }) {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { title, verb, end, none, text, role } = HOLDS[hold];
  const shown = stackQuery(client, place);
  const query = useQuery(shown);
  const release = useMutation({
    mutationFn: async () =>
      hold === "lock" ? client.unlockStack(place) : client.unfreezeStack(place),
    onSettled: async () => queries.invalidateQueries({ queryKey: shown.queryKey }),
  });
  const isAllowed = mayDo(caller, role, place.project);
  const hint = isAllowed ? undefined : `This needs the role registry:${role}.`;
  return (
    <section className="card" aria-labelledby={hold}>
      <h2 id={hold}>{title}</h2>
      <p className="quiet">{text}</p>
      <Loaded query={query} what={hold}>
        {({ [hold]: held }) =>
          held === undefined ? (
            <>
              <p>{none}</p>
              <button
                type="button"
                disabled={!isAllowed}
                title={hint}
                onClick={() => setOpen(true)}
              >
                {verb}
              </button>
            </>
          ) : (
            <>
              <p>
                By <strong>{held.actor}</strong> <Time at={held.at} />: {held.reason}
                {held.until !== undefined && <> (until {new Date(held.until).toLocaleString()})</>}
              </p>
              <button
                type="button"
                disabled={!isAllowed || release.isPending}
                title={hint}
                onClick={() => release.mutate()}
              >
                {end}
              </button>
              {release.error !== null && <ProblemBox error={release.error} />}
            </>
          )
        }
      </Loaded>
      {isOpen && <HoldDialog hold={hold} onClose={() => setOpen(false)} />}
    </section>
  );
}

function HoldDialog({ hold, onClose }: { readonly hold: Hold; readonly onClose: () => void }) {
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [reason, setReason] = useState("");
  const [hours, setHours] = useState("");
  const { title, text } = HOLDS[hold];
  const set = useMutation({
    mutationFn: async () => {
      const seconds = Math.round(Number(hours) * 3600);
      const body = { reason, ...(hours !== "" && { expires_in_seconds: seconds }) };
      return hold === "lock"
        ? client.lockStack({ ...place, body })
        : client.freezeStack({ ...place, body });
    },
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: stackQuery(client, place).queryKey }),
  });
  return (
    <Dialog
      title={`${title} ${place.project}/${place.stack}`}
      confirm={title}
      isReady={reason.trim() !== ""}
      isBusy={set.isPending}
      onConfirm={() => set.mutate()}
      onClose={onClose}
      problem={set.error !== null && <ProblemBox error={set.error} />}
    >
      <p>{text}</p>
      <label htmlFor={`${id}-reason`}>Reason</label>
      <input
        id={`${id}-reason`}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      <label htmlFor={`${id}-hours`}>Ends by itself after so many hours (empty: it does not)</label>
      <input
        id={`${id}-hours`}
        type="number"
        min="0.1"
        step="any"
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
    </Dialog>
  );
}

function Schedules() {
  const place = useStackPlace();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["schedules", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.listSchedules(place, { signal })).data,
  });
  return (
    <section className="card" aria-labelledby="schedules">
      <h2 id="schedules">Schedules</h2>
      <Loaded query={query} what="schedules">
        {({ schedules }) =>
          schedules.length === 0 ? (
            <>
              <p className="quiet">None. A command makes one:</p>
              <code className="command">
                stackwright runs schedule "0 3 * * 1-5" --plan-only --stack {place.project}/
                {place.stack}
              </code>
            </>
          ) : (
            <ul className="plain-list">
              {schedules.map((one) => (
                <li key={one.id}>
                  <code>{one.cron ?? "once"}</code> {one.zone}, {one.mode.replaceAll("_", " ")}
                  {one.paused && <span className="badge quiet">paused</span>}
                  {one.next_at !== undefined && (
                    <span className="quiet">
                      next <Time at={one.next_at} />
                    </span>
                  )}
                  {one.last_problem !== undefined && (
                    <span className="bad">{one.last_problem}</span>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

function Triggers() {
  const place = useStackPlace();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["triggers", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.listTriggers(place, { signal })).data,
  });
  return (
    <section className="card" aria-labelledby="triggers">
      <h2 id="triggers">Triggers</h2>
      <Loaded query={query} what="triggers">
        {({ triggers }) =>
          triggers.length === 0 ? (
            <>
              <p className="quiet">None. A command makes one:</p>
              <code className="command">
                stackwright runs trigger PROJECT/STACK --stack {place.project}/{place.stack}
              </code>
            </>
          ) : (
            <ul className="plain-list">
              {triggers.map(({ id, producer, mode, paused, last_problem: problem }) => (
                <li key={id}>
                  outputs of{" "}
                  <Link to={stackPath(producer)}>
                    {producer.project}/{producer.stack}
                  </Link>
                  , {mode.replaceAll("_", " ")}
                  {paused && <span className="badge quiet">paused</span>}
                  {problem !== undefined && <span className="bad">{problem}</span>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
