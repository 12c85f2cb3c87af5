/** What of Node's way to send requests decides about their connection. */
export interface Dispatcher {
  dispatch(options: { readonly origin?: string | URL }, handler: unknown): boolean;
}

/** All that `fetch` of this process sends requests with, by the place where Node keeps it. */
export const dispatchers = globalThis as unknown as Record<symbol, Dispatcher | undefined>;

/** Where Node keeps what sends requests; the name ends with a number that may change. */
export function dispatcherPlaces(): readonly symbol[] {
  // The first use of one of its classes loads what requests are sent with.
  void globalThis.Headers;
  return Object.getOwnPropertySymbols(globalThis).filter((symbol) =>
    symbol.description?.startsWith("undici.globalDispatcher"),
  );
}

/** Like another one but for how it dispatches; its class stays that of the other, by which more of its kind are made. */
export function dispatcherLike(other: Dispatcher, dispatch: Dispatcher["dispatch"]): Dispatcher {
  return Object.assign(Object.create(other) as Dispatcher, { dispatch });
}
