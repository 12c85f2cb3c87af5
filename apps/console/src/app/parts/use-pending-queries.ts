import { type Query, useQueryClient } from "@tanstack/react-query";

/** What the page reads and has not got yet. */
const PENDING = {
  type: "active",
  predicate: ({ state }: Query) => state.status === "pending",
} as const;

interface PendingQueries {
  /** Gives the requests up and sends them again: one that is held somewhere on its way may never be answered. */
  readonly again: () => void;
  readonly cancel: () => void;
}

/** What may be done about a page that is slow to load. */
export function usePendingQueries(): PendingQueries {
  const queries = useQueryClient();
  return {
    again: () =>
      void queries.cancelQueries(PENDING).then(async () => queries.refetchQueries(PENDING)),
    cancel: () => void queries.cancelQueries(PENDING),
  };
}
