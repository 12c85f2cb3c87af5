import process from "node:process";
import { CommandError } from "../command-error.ts";
import { dispatcherLike, dispatcherPlaces, dispatchers } from "../connection/dispatchers.ts";
import { bypassesProxy, parseProxies } from "./proxy-settings.ts";

/**
 * Sends the requests of the process through the proxies of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, as the reference command does.
 * Node knows the variables as well, but proxies addresses of this machine too, and reads no networks in `NO_PROXY`: which requests go
 * through a proxy is decided here. Returns notes for the user where this Node cannot do it; `CommandError` for a proxy that is not a valid address.
 */
export function useProxies(env: NodeJS.ProcessEnv): readonly string[] {
  const proxies = parseProxies(env);
  // Node does it by itself then.
  if (proxies === undefined || env["NODE_USE_ENV_PROXY"] === "1") return [];
  const http: { readonly setGlobalProxyFromEnv?: (env: NodeJS.ProcessEnv) => unknown } =
    process.getBuiltinModule("node:http");
  if (http.setGlobalProxyFromEnv === undefined) {
    return [
      "Note: HTTPS_PROXY and HTTP_PROXY have no effect with this Node. Use 24.14 or newer, or set NODE_USE_ENV_PROXY=1.",
    ];
  }
  const places = dispatcherPlaces();
  const direct = places.map((place) => dispatchers[place]);
  try {
    http.setGlobalProxyFromEnv({
      ...(proxies.http !== undefined && { http_proxy: proxies.http }),
      ...(proxies.https !== undefined && { https_proxy: proxies.https }),
      no_proxy: proxies.names,
    });
  } catch (cause) {
    throw new CommandError("The proxy of HTTPS_PROXY or HTTP_PROXY is not a valid address.", {
      cause,
      advice: "Write http://HOST:PORT or https://HOST:PORT.",
    });
  }
  for (const [index, place] of places.entries()) {
    const [alone, proxied] = [direct[index], dispatchers[place]];
    if (alone === undefined || proxied === undefined) continue;
    dispatchers[place] = dispatcherLike(alone, (options, handler) =>
      (bypassesProxy(proxies, String(options.origin)) ? alone : proxied).dispatch(options, handler),
    );
  }
  return [];
}
