import { useInfiniteQuery } from "@tanstack/react-query";
import { Empty, Loaded } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";
import { RunTable } from "./run-table.tsx";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

/** All runs of a stack that the server still has, newest first. */
export function RunsTab() {
  const place = useStackPlace();
  const { client } = useServer();
  useRefreshOnChange(place, ["all-runs"]);
  const query = useInfiniteQuery({
    queryKey: ["all-runs", place.project, place.stack],
    queryFn: async ({ pageParam, signal }) =>
      (
        await client.listRuns(
          { ...place, order: "newest", limit: 50, after: pageParam },
          { signal },
        )
      ).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  return (
    <Loaded query={query} what="runs">
      {({ pages }) => {
        const runs = pages.flatMap((page) => page.runs);
        if (runs.length === 0) {
          return (
            <Empty title="No runs yet">
              <p>
                <code className="command">stackwright runs start FOLDER --stack {place.stack}</code>
              </p>
            </Empty>
          );
        }
        return (
          <>
            <RunTable runs={runs} place={place} />
            {query.hasNextPage && (
              <button
                type="button"
                disabled={query.isFetchingNextPage}
                onClick={() => void query.fetchNextPage()}
              >
                Older runs
              </button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
