import type { StoredKeys } from "@stackwright/core";
import type { VcsConnection } from "@stackwright/proto/stackwright";
import { projectCipher, sealProjectSecret } from "../queue/project-secrets.ts";
import type { Transaction } from "../queue/transaction.ts";
import type { ConnectionReference } from "./vcs-places.ts";

/** Secrets of a connection. */
interface ConnectionSecrets {
  readonly webhookSecret: Buffer;
  /** Empty without one. */
  readonly token: string;
}

/** Encrypts a secret of a connection that the same transaction writes. */
export async function sealSecret(
  tx: Transaction,
  keys: StoredKeys,
  reference: ConnectionReference,
  path: readonly [id: string, member: "webhook_secret" | "token"],
  plain: string,
): Promise<Buffer> {
  return sealProjectSecret(tx, keys, { ...secretsOf(reference), path }, plain);
}

/** Decrypts the secrets of a connection. */
export async function openSecrets(
  keys: StoredKeys,
  reference: ConnectionReference,
  { id, webhookSecret, token }: VcsConnection,
): Promise<ConnectionSecrets> {
  const open = await projectCipher(keys, secretsOf(reference));
  return {
    webhookSecret: open([id, "webhook_secret"], webhookSecret),
    token: token.byteLength === 0 ? "" : open([id, "token"], token).toString("utf8"),
  };
}

function secretsOf({ account, project }: ConnectionReference) {
  return { account, project, of: "vcs connection" } as const;
}
