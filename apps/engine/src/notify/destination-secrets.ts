import { randomBytes } from "node:crypto";
import type { StoredKeys } from "@stackwright/core";
import type { NotificationDestination } from "@stackwright/proto/stackwright";
import type { ProjectReference } from "../domain/notification-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { projectCipher, sealProjectSecret } from "../queue/project-secrets.ts";
import type { Transaction } from "../queue/transaction.ts";

const PREFIX = "whsec_";
const MIN_BYTES = 24;
const MAX_BYTES = 64;

type SecretMember = "url" | "secret";

/** A secret as receivers are given it: the form of Standard Webhooks. */
export function makeSecret(): string {
  return PREFIX + randomBytes(32).toString("base64");
}

/** The bytes that a secret stands for. `unprocessable` where it is none. */
export function secretBytes(text: string): Buffer {
  const bytes = Buffer.from(text.slice(PREFIX.length), "base64");
  const isWhole = text === PREFIX + bytes.toString("base64");
  if (isWhole && bytes.byteLength >= MIN_BYTES && bytes.byteLength <= MAX_BYTES) return bytes;
  throw new ServerError(
    "unprocessable",
    `a secret is "${PREFIX}" and ${MIN_BYTES} to ${MAX_BYTES} random bytes in base64; leave it out to get one`,
  );
}

/** Encrypts what only the server may know of a destination that the same transaction writes. */
export async function sealForDestination(
  tx: Transaction,
  keys: StoredKeys,
  project: ProjectReference,
  path: readonly [id: string, member: SecretMember],
  plain: string,
): Promise<Buffer> {
  return sealProjectSecret(tx, keys, { ...secretsOf(project), path }, plain);
}

/** The address of a destination, and the secrets that sign what it gets at a time: two after a rotation, none for a chat. */
export async function openDestination(
  keys: StoredKeys,
  project: ProjectReference,
  { id, url, secret, formerSecret, formerUntilMs }: NotificationDestination,
  nowMs: number,
): Promise<{ readonly url: string; readonly secrets: readonly Buffer[] }> {
  const decrypt = await projectCipher(keys, secretsOf(project));
  const open = (sealed: Uint8Array, member: SecretMember): string =>
    decrypt([id, member], sealed).toString("utf8");
  const former = formerSecret.byteLength > 0 && Number(formerUntilMs) > nowMs ? [formerSecret] : [];
  return {
    url: open(url, "url"),
    secrets: [...(secret.byteLength > 0 ? [secret] : []), ...former].map((sealed) =>
      secretBytes(open(sealed, "secret")),
    ),
  };
}

function secretsOf({ account, project }: ProjectReference) {
  return { account, project, of: "notification destination" } as const;
}
