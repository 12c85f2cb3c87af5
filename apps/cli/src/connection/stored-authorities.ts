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
    if (typeof authority !== "string") continue;
    const { hostname } = new URL(server);
    const other = found.get(hostname);
    found.set(hostname, other === undefined ? authority : `${other}\n${authority}`);
  }
  return found;
}
