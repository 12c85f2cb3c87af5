import { isClientError } from "@stackwright/client";
import { type ReactNode, useEffect, useState } from "react";

/** Said after 150 ms, so that what is fast does not flicker. */
export function Loading({ what }: { readonly what: string }) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="loading" role="status">
      {isShown ? `Loading ${what}…` : ""}
    </p>
  );
}

interface ProblemBoxProps {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

/** A failure as the server describes it: what, the code, and the id that its log has. */
export function ProblemBox({ error, retry }: ProblemBoxProps) {
  const known = isClientError(error) ? error : undefined;
  const isMissing = known?.status === 404;
  return (
    <div className="problem" role="alert">
      <p>
        <strong>{isMissing ? "Not found" : (known?.problem?.title ?? "This did not work")}</strong>
      </p>
      <p>{known?.message ?? String(error)}</p>
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

interface QueryState<T> {
  readonly data: T | undefined;
  readonly error: unknown;
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
  const { data, error, refetch } = query;
  if (data !== undefined) {
    return (
      <>
        {error !== null && <ProblemBox error={error} retry={() => void refetch()} />}
        {children(data)}
      </>
    );
  }
  if (error !== null) return <ProblemBox error={error} retry={() => void refetch()} />;
  return <Loading what={what} />;
}
