import type { StackReference, StoredKeys } from "@stackwright/core";
import type { VcsConnection } from "@stackwright/proto/stackwright";
import type { ConnectionReference } from "./vcs-places.ts";

/** Secrets of a connection. */
interface ConnectionSecrets {
  readonly webhookSecret: Buffer;
  /** Empty without one. */
  readonly token: string;
}

/** Where the data keys of the connections of a project are. Ids of stacks are ULIDs, so that no stack has this one. */
function connectionKeys({ account, project }: ConnectionReference): StackReference {
  return { account, project, stack: "vcs-connections" };
}

/** Encrypts a secret, tied to its connection. */
export async function sealSecret(
  keys: StoredKeys,
  reference: ConnectionReference,
  id: string,
  member: "webhook_secret" | "token",
  plain: string,
): Promise<Buffer> {
  const cipher = await keys.ensure(connectionKeys(reference));
  return Buffer.from(cipher.seal(Buffer.from(plain), contextOf(reference, id, member)));
}

/** Decrypts the secrets of a connection. */
export async function openSecrets(
  keys: StoredKeys,
  reference: ConnectionReference,
  { id, webhookSecret, token }: VcsConnection,
): Promise<ConnectionSecrets> {
  const cipher = await keys.ensure(connectionKeys(reference));
  const open = (sealed: Uint8Array, member: "webhook_secret" | "token"): Buffer =>
    Buffer.from(cipher.open(sealed, contextOf(reference, id, member)));
  return {
    webhookSecret: open(webhookSecret, "webhook_secret"),
    token: token.byteLength === 0 ? "" : open(token, "token").toString("utf8"),
  };
}

function contextOf(
  { account, project }: ConnectionReference,
  id: string,
  member: "webhook_secret" | "token",
): string {
  return ["vcs connection", account, project, id, member].join("\0");
}
