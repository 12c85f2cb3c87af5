import { type ClientError, isClientError } from "@stackwright/client";
import type { FetchStatus } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { adviceFor } from "./advice.ts";
import { usePendingQueries } from "./use-pending-queries.ts";

/** What is fast does not flicker, and what is slow says that it is. */
const SHOWN_MS = 150;
const SLOW_MS = 5_000;

interface LoadingProps {
  readonly what: string;
  /** Offered once it is slow. */
  readonly again?: (() => void) | undefined;
  readonly cancel?: (() => void) | undefined;
}

/** Says what is being read, and after a while that the server is slow, and what may be done about it. */
export function Loading({ what, again, cancel }: LoadingProps) {
  const [text, setText] = useState("");
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    const timers = [
      setTimeout(() => setText(`Loading ${what}…`), SHOWN_MS),
      setTimeout(() => {
        setText(`Still loading ${what}: the server has not answered yet.`);
        setSlow(true);
      }, SLOW_MS),
    ];
    return () => timers.forEach(clearTimeout);
  }, [what]);
  return (
    <>
      <p className="loading" role="status">
        {text}
      </p>
      {isSlow && (
        <p className="actions">
          {again !== undefined && (
            <button type="button" onClick={again}>
              Try again
            </button>
          )}
          {cancel !== undefined && (
            <button type="button" onClick={cancel}>
              Cancel
            </button>
          )}
        </p>
      )}
    </>
  );
}

interface ProblemBoxProps {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

/** A failure as the server describes it: what, what may be done about it, the code, and the id that its log has. */
export function ProblemBox({ error, retry }: ProblemBoxProps) {
  const known = isClientError(error) ? error : undefined;
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{titleOf(known)}</strong>
      </p>
      <p>{known?.message ?? String(error)}</p>
      {/* After a change that failed its form is still there: only a missing role needs another way. */}
      {(retry !== undefined || known?.status === 403) && <p>{adviceFor(error)}</p>}
      {known?.problem !== undefined && (
        <p className="quiet">
          Code <code>{known.code}</code>, request <code>{known.problem.request_id}</code>
        </p>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function titleOf(error: ClientError | undefined): string {
  if (error?.status === 403) return "No permission";
  if (error?.status === 404) return "Not found";
  return error?.problem?.title ?? "This did not work";
}

/** Where there is nothing: what belongs here, and how to make one. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}

/** Where there is something, and a filter hides all of it. */
export function NoMatch({ title, clear }: { readonly title: string; readonly clear: () => void }) {
  return (
    <Empty title={title}>
      <button type="button" onClick={clear}>
        Clear the filter
      </button>
    </Empty>
  );
}

interface QueryState<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly fetchStatus: FetchStatus;
  readonly refetch: () => unknown;
}

/** The data of a query, or why they are not here. */
export function Loaded<T>({
  query,
  what,
  children,
}: {
  readonly query: QueryState<T>;
  readonly what: string;
  readonly children: (data: T) => ReactNode;
}) {
  const { data, error, fetchStatus, refetch } = query;
  const { again, cancel } = usePendingQueries();
  const [hasBegun, setBegun] = useState(false);
  useEffect(() => {
    if (fetchStatus === "fetching") setBegun(true);
  }, [fetchStatus]);
  if (data !== undefined) {
    return (
      <>
        {error !== null && <ProblemBox error={error} retry={() => void refetch()} />}
        {children(data)}
      </>
    );
  }
  if (error !== null) return <ProblemBox error={error} retry={() => void refetch()} />;
  if (hasBegun && fetchStatus === "idle") {
    return (
      <Empty title={`Loading ${what} was canceled`}>
        <button type="button" onClick={() => void refetch()}>
          Try again
        </button>
      </Empty>
    );
  }
  return <Loading what={what} again={again} cancel={cancel} />;
}
