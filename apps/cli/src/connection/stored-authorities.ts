import { isIPv6 } from "node:net";
import { credentialsPath, readCredentials } from "./server-credentials.ts";

/**
 * The authorities that were stored with a login, by the name of the host: another port of a host, as its store has one, has the same
 * certificate. None where the credentials cannot be read: commands that use them say why.
 */
export async function storedAuthorities(
  env: NodeJS.ProcessEnv,
): Promise<ReadonlyMap<string, string>> {
  const stored = await readCredentials(credentialsPath(env)).catch(() => undefined);
  const found = new Map<string, string>();
  for (const [server, { authority }] of Object.entries(stored?.servers ?? {})) {
    const hostname = URL.parse(server)?.hostname;
    if (typeof authority !== "string" || hostname === undefined) continue;
    const other = found.get(hostname);
    found.set(hostname, other === undefined ? authority : `${other}\n${authority}`);
  }
  return found;
}

/**
 * What a connection to a host trusts where an authority was stored for it, in PEM: that one beside those of the system, as its server may
 * have another certificate by now. Undefined where none was stored.
 */
export async function trustedFor(
  hostname: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  // Addresses of stores have IPv6 without the brackets of URLs.
  const host = isIPv6(hostname) ? `[${hostname}]` : hostname;
  const stored = (await storedAuthorities(env)).get(host);
  if (stored === undefined) return undefined;
  // Loaded here: most commands open no connection.
  const { getCACertificates } = process.getBuiltinModule("node:tls");
  return [...getCACertificates("default"), stored].join("\n");
}
