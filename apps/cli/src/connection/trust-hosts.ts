import { type Dispatcher, dispatcherLike, dispatcherPlaces, dispatchers } from "./dispatchers.ts";

type MakeDispatcher = new (options: {
  readonly connect: { readonly ca: readonly string[] };
}) => Dispatcher;

/**
 * Lets requests of this process to some hosts trust authorities of their own, beside those that the process trusts. Other hosts are not
 * trusted by them: who has the key of such an authority cannot stand in for a registry. To be called before proxies are used; requests
 * through a proxy do not trust them.
 *
 * @param authorities certificates in PEM, by the name of the host
 */
export function trustHosts(authorities: ReadonlyMap<string, string>): void {
  if (authorities.size === 0) return;
  // Loaded here: most commands open no connection.
  const { getCACertificates } = process.getBuiltinModule("node:tls");
  for (const place of dispatcherPlaces()) {
    const others = dispatchers[place];
    if (others === undefined) continue;
    const Own = others.constructor as MakeDispatcher;
    const known = getCACertificates("default");
    const own = new Map(
      Array.from(authorities, ([host, ca]) => [host, new Own({ connect: { ca: [...known, ca] } })]),
    );
    dispatchers[place] = dispatcherLike(others, (options, handler) =>
      (own.get(new URL(String(options.origin)).hostname) ?? others).dispatch(options, handler),
    );
  }
}
