import type * as Sdk from "@aws-sdk/client-s3";
import { isOwnLock, lockedError, lockIdOf, lockText } from "../lock-record.ts";
import type { BackendCall, LockRecord } from "../state-backend.ts";
import type { S3Clients } from "./s3-clients.ts";
import { abort, type CustomerKey, isMissing } from "./s3-request.ts";

/** A lock as an object that is only written where it does not exist. */
export function fileLock({
  s3,
  sdk,
  bucket,
  key,
  customer,
}: {
  readonly s3: Sdk.S3Client;
  readonly sdk: typeof Sdk;
  readonly bucket: string;
  readonly key: string;
  readonly customer: CustomerKey;
}) {
  const holder = async (call: BackendCall): Promise<string | undefined> => {
    try {
      const input = { Bucket: bucket, Key: key, ...customer };
      const { Body } = await s3.send(new sdk.GetObjectCommand(input), abort(call.signal));
      return await Body?.transformToString();
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  };
  return {
    holder,
    async acquire(record: LockRecord, place: string, call: BackendCall): Promise<void> {
      try {
        await s3.send(
          new sdk.PutObjectCommand({
            Bucket: bucket,
            Key: key,
            Body: lockText(record),
            ContentType: "application/json",
            IfNoneMatch: "*",
            ...customer,
          }),
          abort(call.signal),
        );
      } catch (error) {
        const { $metadata } = error as {
          readonly $metadata?: { readonly httpStatusCode?: number };
        };
        const status = $metadata?.httpStatusCode;
        if (status !== 412 && status !== 409) throw error;
        const found = await holder(call);
        if (!isOwnLock(found, record)) throw lockedError(place, found);
      }
    },
    /** Removes the object where it is the lock with this ID. */
    async release(id: string, call: BackendCall): Promise<void> {
      const found = await holder(call);
      if (found === undefined || lockIdOf(found) !== id) return;
      await s3.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key }), abort(call.signal));
    },
  };
}

/** Locks and digests of states as items of a table. */
export interface ItemTable {
  holder(path: string, call: BackendCall): Promise<string | undefined>;
  acquire(path: string, record: LockRecord, place: string, call: BackendCall): Promise<void>;
  release(path: string, id: string, call: BackendCall): Promise<void>;
  digest(path: string, call: BackendCall): Promise<string | undefined>;
  putDigest(path: string, digest: string, call: BackendCall): Promise<void>;
}

/** The table of a name; its key is the text `LockID`. */
export function itemTable(name: string, clients: S3Clients): ItemTable {
  const attribute = async (id: string, member: string, { signal }: BackendCall) => {
    const { GetItemCommand } = await import("@aws-sdk/client-dynamodb");
    const input = { TableName: name, Key: { LockID: { S: id } }, ConsistentRead: true };
    const { Item } = await (await clients.dynamodb()).send(
      new GetItemCommand(input),
      abort(signal),
    );
    return Item?.[member]?.S;
  };
  return {
    holder: async (path, call) => attribute(path, "Info", call),
    acquire: async (path, record, place, call) => {
      const { PutItemCommand } = await import("@aws-sdk/client-dynamodb");
      try {
        await (await clients.dynamodb()).send(
          new PutItemCommand({
            TableName: name,
            Item: { LockID: { S: path }, Info: { S: lockText(record) } },
            ConditionExpression: "attribute_not_exists(LockID)",
          }),
          abort(call.signal),
        );
      } catch (error) {
        if ((error as Error).name !== "ConditionalCheckFailedException") throw error;
        const found = await attribute(path, "Info", call);
        if (!isOwnLock(found, record)) throw lockedError(place, found);
      }
    },
    release: async (path, id, call) => {
      const info = await attribute(path, "Info", call);
      if (info === undefined || lockIdOf(info) !== id) return;
      const { DeleteItemCommand } = await import("@aws-sdk/client-dynamodb");
      const input = { TableName: name, Key: { LockID: { S: path } } };
      await (await clients.dynamodb()).send(new DeleteItemCommand(input), abort(call.signal));
    },
    digest: async (path, call) => attribute(`${path}-md5`, "Digest", call),
    putDigest: async (path, digest, call) => {
      const { PutItemCommand } = await import("@aws-sdk/client-dynamodb");
      const Item = { LockID: { S: `${path}-md5` }, Digest: { S: digest } };
      const input = { TableName: name, Item };
      await (await clients.dynamodb()).send(new PutItemCommand(input), abort(call.signal));
    },
  };
}
