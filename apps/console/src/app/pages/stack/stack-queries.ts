import type { ServerClient } from "@stackwright/client";

interface StackPlace {
  readonly project: string;
  readonly stack: string;
}

interface QueryContext {
  readonly signal: AbortSignal;
}

/** A stack with what holds its runs back. */
export function stackQuery(client: Pick<ServerClient, "showStack">, place: StackPlace) {
  return {
    queryKey: ["stack", place.project, place.stack],
    queryFn: async ({ signal }: QueryContext) => (await client.showStack(place, { signal })).data,
  };
}

/** What is recorded of a stack. */
export function stateQuery(client: Pick<ServerClient, "showState">, place: StackPlace) {
  return {
    queryKey: ["state", place.project, place.stack],
    queryFn: async ({ signal }: QueryContext) => (await client.showState(place, { signal })).data,
  };
}

/** The newest runs of a stack. */
export function runsQuery(client: Pick<ServerClient, "listRuns">, place: StackPlace) {
  return {
    queryKey: ["runs", place.project, place.stack],
    queryFn: async ({ signal }: QueryContext) =>
      (await client.listRuns({ ...place, order: "newest", limit: 50 }, { signal })).data,
  };
}
