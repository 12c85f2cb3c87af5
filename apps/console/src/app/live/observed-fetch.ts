import type { StackStore } from "./stack-store.ts";

/**
 * The `fetch` of the client, which notes when the stream of stacks is opened and when it has to be opened again, and says so where the
 * credential is no longer valid.
 */
export function observedFetch(
  send: typeof fetch,
  store: StackStore,
  onRefused: () => void,
): typeof fetch {
  return async (input, init) => {
    const isWatch = typeof input === "string" && input.includes("/api/v1/watch");
    if (isWatch) store.stream("reconnecting");
    const answer = await send(input, init);
    if (isWatch && answer.ok) store.stream("live");
    if (answer.status === 401) onRefused();
    return answer;
  };
}
