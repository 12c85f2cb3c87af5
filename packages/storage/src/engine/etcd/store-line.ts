import { randomBytes, randomUUID } from "node:crypto";
import {
  Compare,
  Compare_CompareResult,
  Compare_CompareTarget,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from "@stackwright/proto/etcd";
import { isStorageError, StorageError } from "../../errors.ts";
import type { EtcdClient } from "./etcd-client.ts";

// One key names the store and the cluster that it is in. A snapshot of etcd that is restored makes a cluster
// with another id, unless token and member addresses are given as they were: then nothing tells the two apart.
//
//   <name>                     a store of a release that did not record the cluster
//   <name> <cluster> <salt>    "-" is no salt
//   restoring <id>             being filled by a restore (`fill-store.ts`)
//
// A store in a cluster that it was not made in gets another name, which is in its cursors, and a salt, which is
// in the checksums of its versions: versions that its original issued, before or after the snapshot, are none
// of its own.

/** What a store is called, and what its versions are made with. */
interface StoreLine {
  /** In cursors; with the cluster. */
  readonly epoch: string;
  /** Part of the checksum in versions; empty in a store that is where it was made. */
  readonly salt: string;
}

/** How often another writer of the key may be faster. */
const ATTEMPTS = 10;

const NO_SALT = "-";

/**
 * The line of the store behind a key; the first instance makes it, and the first one after a copy starts another
 * one. `STORAGE_INCONSISTENT` when a restore into the store was not completed.
 */
export async function openLine(client: EtcdClient, key: Buffer): Promise<StoreLine> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const stored = await readText(client, key);
    if (isRestoring(stored)) {
      throw new StorageError(
        "STORAGE_INCONSISTENT",
        "a restore into this store was not completed: repeat it, or remove all keys of the store",
        { details: { outcome: "not-applied" } },
      );
    }
    const cluster = client.clusterId.toString(16);
    const [name = "", known, salt = NO_SALT] = stored?.split(" ") ?? [];
    if (stored !== undefined && known === cluster) return lineOf(name, cluster, salt);
    const next = nextLine(stored, cluster);
    try {
      await replaceText(client, key, stored, next);
    } catch (error) {
      // Who may only read a store that is older than the record of its cluster takes it as it is.
      const old = stored !== undefined && known === undefined;
      if (!old || !isStorageError(error, "STORAGE_PERMISSION_DENIED")) throw error;
      return lineOf(name, cluster, NO_SALT);
    }
  }
  throw new StorageError("STORAGE_INCONSISTENT", "the record of the store changes all the time");
}

/** The text of a line that has no history before it, as after a restore. */
export function newLineText(clusterId: bigint): string {
  return `${randomUUID()} ${clusterId.toString(16)} ${randomBytes(4).toString("hex")}`;
}

const RESTORING = "restoring ";

/** The text of a store that is being filled. */
export function restoringText(): string {
  return `${RESTORING}${randomUUID()}`;
}

/** Whether a restore of the store was begun and not completed. */
export function isRestoring(text: string | undefined): boolean {
  return text?.startsWith(RESTORING) === true;
}

/** The text of a key, now or at a revision. */
export async function readText(
  client: EtcdClient,
  key: Buffer,
  revision = 0n,
): Promise<string | undefined> {
  const { kvs } = await client.range(RangeRequest.create({ key, revision }));
  return kvs[0] === undefined ? undefined : Buffer.from(kvs[0].value).toString("utf8");
}

/** Replaces the text of a key, or creates it; does nothing when it is another one than expected. */
export async function replaceText(
  client: EtcdClient,
  key: Buffer,
  expected: string | undefined,
  text: string,
): Promise<void> {
  const put = PutRequest.create({ key, value: Buffer.from(text) });
  const transaction = TxnRequest.create({
    compare: [textIs(key, expected)],
    success: [RequestOp.create({ request: { $case: "requestPut", value: put } })],
  });
  // Harmless when repeated, so it may be tried again like a read.
  await client.txn(transaction, "read");
}

/** That a key has a text; without one, that it does not exist. */
export function textIs(key: Buffer, text: string | undefined): Compare {
  return Compare.create({
    key,
    result: Compare_CompareResult.EQUAL,
    ...(text === undefined
      ? {
          target: Compare_CompareTarget.CREATE,
          targetUnion: { $case: "createRevision" as const, value: 0n },
        }
      : {
          target: Compare_CompareTarget.VALUE,
          targetUnion: { $case: "value" as const, value: Buffer.from(text) },
        }),
  });
}

function nextLine(stored: string | undefined, cluster: string): string {
  if (stored === undefined) return `${randomUUID()} ${cluster} ${NO_SALT}`;
  if (!stored.includes(" ")) return `${stored} ${cluster} ${NO_SALT}`;
  return newLineText(BigInt(`0x${cluster}`));
}

function lineOf(name: string, cluster: string, salt: string): StoreLine {
  return { epoch: `${name}~${cluster}`, salt: salt === NO_SALT ? "" : salt };
}
