import { createHmac } from "node:crypto";
import { join } from "node:path";
import { isFgBridgeError } from "@stackwright/fg-bridge";
import type { VcsConnection } from "@stackwright/proto/stackwright";
import type { Lease } from "@stackwright/storage/lease";
import { tracedCall } from "../span/traced-call.ts";
import { kindOf } from "./connection-kind.ts";
import { openSecrets } from "./connection-secrets.ts";
import { GitRepository } from "./git/git-repository.ts";
import { createGenericProvider } from "./provider/generic-provider.ts";
import { createHostedProvider } from "./provider/hosted-provider.ts";
import { protocolOf } from "./repository-address.ts";
import type { OpenConnection, VcsParts } from "./vcs-parts.ts";
import type { ConnectionReference } from "./vcs-places.ts";

/** A connection with its repository and its Git server. `unprocessable` where the operator no longer allows its address. */
export async function openConnection(
  parts: VcsParts,
  reference: ConnectionReference,
  connection: VcsConnection,
  guard: Lease["guard"],
  signal: AbortSignal,
): Promise<OpenConnection> {
  const { repositoryUrl: address, branch, reportUrl, apiUrl } = connection;
  const protocol = protocolOf(address, parts.localFolders);
  const { webhookSecret, token } = await openSecrets(parts.keys, reference, connection);
  const user = token.includes(":") ? token : `x-access-token:${token}`;
  const value = `Authorization: Basic ${Buffer.from(user).toString("base64")}`;
  const repository = new GitRepository({
    address,
    protocols: protocol,
    folder: join(parts.directory, `${connection.id}.git`),
    env: parts.env,
    signal,
    ...(protocol !== "file" && { pinned: async () => pinnedAddress(parts, address) }),
    ...(token !== "" && protocol !== "file" && { header: { address, value } }),
  });
  const kind = kindOf(connection.kind);
  const provider =
    kind === "generic"
      ? createGenericProvider({
          repository,
          branch,
          reportUrl,
          hosts: parts.hosts,
          secret: webhookSecret,
          wallMs: () => parts.clock.wallMs(),
          token: parts.token,
        })
      : createHostedProvider({
          kind,
          apiUrl,
          repository: connection.repository,
          token,
          hosts: parts.hosts,
        });
  const told = {
    "stackwright.project": reference.project,
    "stackwright.connection": reference.name,
  };
  return {
    reference,
    connection,
    repository,
    provider: {
      ...provider,
      writeComment: async (...given) =>
        tracedCall(parts, "write comment", told, async () => provider.writeComment(...given)),
      writeStatus: async (...given) =>
        tracedCall(parts, "write status", told, async () => provider.writeStatus(...given)),
    },
    markerOf: (pullRequest) => {
      const text = `comment\0${connection.id}\0${pullRequest}`;
      const mac = createHmac("sha256", webhookSecret).update(text).digest("hex").slice(0, 32);
      return `<!-- stackwright:${mac} -->`;
    },
    guard,
    signal,
  };
}

/** Where git has to find a host. A proxy resolves names itself, so that this machine does not have to. */
async function pinnedAddress(
  { hosts, env }: Pick<VcsParts, "hosts" | "env">,
  address: string,
): Promise<string | undefined> {
  try {
    return await hosts.pinned(new URL(address));
  } catch (error) {
    const hasProxy = PROXIES.some((name) => (env[name] ?? "") !== "");
    if (hasProxy && isFgBridgeError(error, "FG_UNREACHABLE")) return undefined;
    throw error;
  }
}

const PROXIES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];
