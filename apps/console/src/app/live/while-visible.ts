/** How long a tab may be hidden before its streams are closed: a look at another tab costs nothing. */
const GRACE_MS = 15_000;

/**
 * Runs something while the tab is shown, and begins it again when it is shown again: a browser has six connections to a server for
 * all its tabs, and streams of hidden ones would use them up. The result ends it.
 */
export function whileVisible(run: (signal: AbortSignal) => Promise<void>): () => void {
  let current: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (): void => {
    if (current !== undefined) return;
    const own = new AbortController();
    current = own;
    // What it rejects with has been shown; an abort is meant.
    void run(own.signal).catch(() => undefined);
  };
  const change = (): void => {
    clearTimeout(timer);
    if (!document.hidden) {
      begin();
      return;
    }
    timer = setTimeout(() => {
      current?.abort();
      current = undefined;
    }, GRACE_MS);
  };
  document.addEventListener("visibilitychange", change);
  begin();
  return () => {
    document.removeEventListener("visibilitychange", change);
    clearTimeout(timer);
    current?.abort();
  };
}
