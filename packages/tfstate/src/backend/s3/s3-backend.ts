import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { GetObjectCommandInput, PutObjectCommandInput } from "@aws-sdk/client-s3";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { CALL_DEADLINE_MS, withDeadline } from "../deadline.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import {
  type BackendCall,
  DEFAULT_WORKSPACE,
  type HeldLock,
  type StateBackend,
  sortedWorkspaces,
} from "../state-backend.ts";
import { MAX_STATE_BYTES, stateTooLarge } from "../state-bytes.ts";
import { createS3Clients } from "./s3-clients.ts";
import { fileLock, type ItemTable, itemTable } from "./s3-locks.ts";
import { abort, type CustomerKey, isMissing } from "./s3-request.ts";

/** Options that tests set. */
export interface S3BackendOptions {
  /** How long a digest may disagree with the state, in milliseconds. @default 10 s */
  readonly digestPatienceMs?: number;
  /** For each call with its repetitions, in milliseconds. @default 5 minutes */
  readonly deadlineMs?: number;
}

/** Objects of a bucket, with locks as objects next to them, as items of a table, or both. */
export async function s3Backend(
  configuration: BackendArguments,
  environment: Pick<OpenBackendOptions, "env" | "isIsolated" | "filesWithin" | "maxBytes">,
  { digestPatienceMs = 10_000, deadlineMs = CALL_DEADLINE_MS }: S3BackendOptions = {},
): Promise<StateBackend> {
  const bucket = configuration.need("bucket");
  const key = configuration.need("key").replace(/^\//, "");
  // Without a prefix the workspaces are folders of the bucket.
  const prefix = configuration.isEmpty("workspace_key_prefix")
    ? ""
    : `${configuration.text("workspace_key_prefix") ?? "env:"}/`;
  const clients = await createS3Clients(configuration, environment);
  const sdk = await import("@aws-sdk/client-s3");
  const { s3 } = clients;
  const { maxBytes = MAX_STATE_BYTES } = environment;
  const keyOf = (workspace: string): string =>
    workspace === DEFAULT_WORKSPACE ? key : `${prefix}${workspace}/${key}`;
  const customer = customerKey(configuration.text("sse_customer_key", "AWS_SSE_CUSTOMER_KEY"));
  const tableName = configuration.text("dynamodb_table");
  const table: ItemTable | undefined =
    tableName === undefined ? undefined : itemTable(tableName, clients);
  const usesFile = configuration.flag("use_lockfile") === true;
  const place = (workspace: string): string => `s3 bucket ${bucket}, key ${keyOf(workspace)}`;

  const guarded = async <T>(
    what: string,
    where: string,
    signal: AbortSignal | undefined,
    task: (call: BackendCall) => Promise<T>,
  ): Promise<T> => {
    try {
      return await withDeadline(`${where}: ${what}`, { signal, ms: deadlineMs }, async (until) =>
        task({ signal: until }),
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw s3Error(`${where}: ${what}`, error);
    }
  };
  const readOnce = async (
    workspace: string,
    { signal }: BackendCall,
  ): Promise<Buffer | undefined> => {
    const input: GetObjectCommandInput = { Bucket: bucket, Key: keyOf(workspace), ...customer };
    try {
      const { Body } = await s3.send(new sdk.GetObjectCommand(input), abort(signal));
      const parts: Uint8Array[] = [];
      let size = 0;
      for await (const part of (Body ?? []) as AsyncIterable<Uint8Array>) {
        size += part.length;
        if (size > maxBytes) throw stateTooLarge(place(workspace), maxBytes);
        parts.push(part);
      }
      const bytes = Buffer.concat(parts);
      return bytes.length === 0 ? undefined : bytes;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  };

  return {
    type: "s3",
    identity: (workspace) => JSON.stringify([clients.endpoint, bucket, keyOf(workspace)]),
    place,
    workspaces: async (options = {}) =>
      guarded(
        "listing the workspaces",
        `s3 bucket ${bucket}`,
        options.signal,
        async ({ signal }) => {
          const found: string[] = [];
          let token: string | undefined;
          do {
            const page = await s3.send(
              new sdk.ListObjectsV2Command({
                Bucket: bucket,
                Prefix: prefix,
                ...(token !== undefined && { ContinuationToken: token }),
              }),
              abort(signal),
            );
            for (const { Key = "" } of page.Contents ?? []) {
              const rest = Key.slice(prefix.length);
              const name = rest.slice(0, rest.indexOf("/"));
              if (name !== "" && rest === `${name}/${key}`) found.push(name);
            }
            token = page.NextContinuationToken;
          } while (token !== undefined);
          return sortedWorkspaces(found);
        },
      ),
    read: async (workspace, options = {}) =>
      guarded("reading the state", place(workspace), options.signal, async (call) => {
        for (let waitedMs = 0; ; waitedMs += 2_000) {
          // A table also keeps the digest of the state: an answer of an outdated replica is noticed by it. It is read each time,
          // as another command writes it after the state.
          const expected = await table?.digest(`${bucket}/${keyOf(workspace)}`, call);
          const bytes = await readOnce(workspace, call);
          if (expected === undefined || md5(bytes) === expected) return bytes;
          if (waitedMs >= digestPatienceMs) {
            throw new TfstateError(
              "TFSTATE_BACKEND_DIGEST",
              `${place(workspace)}: the state has the digest ${md5(bytes)}, and the lock table has ${expected}`,
            );
          }
          await delay(2_000, undefined, call.signal === undefined ? {} : { signal: call.signal });
        }
      }),
    write: async (workspace, bytes, options = {}) =>
      guarded("writing the state", place(workspace), options.signal, async (call) => {
        const kms = configuration.text("kms_key_id");
        const acl = configuration.text("acl");
        const input: PutObjectCommandInput = {
          Bucket: bucket,
          Key: keyOf(workspace),
          Body: bytes,
          ContentType: "application/json",
          ...customer,
          ...(customer === undefined && kms !== undefined
            ? { ServerSideEncryption: "aws:kms" as const, SSEKMSKeyId: kms }
            : customer === undefined && configuration.flag("encrypt") === true
              ? { ServerSideEncryption: "AES256" as const }
              : {}),
          ...(acl !== undefined && { ACL: acl as NonNullable<PutObjectCommandInput["ACL"]> }),
        };
        await s3.send(new sdk.PutObjectCommand(input), abort(call.signal));
        await table?.putDigest(`${bucket}/${keyOf(workspace)}`, md5(bytes), call);
      }),
    lock: async (workspace, record, options = {}): Promise<HeldLock> =>
      guarded("locking the state", place(workspace), options.signal, async (call) => {
        const path = `${bucket}/${keyOf(workspace)}`;
        const named = { ...record, Path: path };
        const file = fileLock({ s3, sdk, bucket, key: `${keyOf(workspace)}.tflock`, customer });
        const held = { id: record.ID, outlivesProcess: usesFile || table !== undefined };
        if (usesFile) await file.acquire(named, place(workspace), call);
        try {
          await table?.acquire(path, named, place(workspace), call);
        } catch (error) {
          // Also where the signal was the reason.
          if (usesFile) {
            await guarded("releasing the lock", place(workspace), undefined, async (late) =>
              file.release(record.ID, late),
            );
          }
          throw error;
        }
        return {
          ...held,
          release: async ({ signal } = {}) =>
            guarded("releasing the lock", place(workspace), signal, async (late) => {
              await table?.release(path, record.ID, late);
              if (usesFile) await file.release(record.ID, late);
            }),
        };
      }),
    // The object is looked for in each case: who only reads states does not say how others lock them.
    lockHolder: async (workspace, options = {}) =>
      guarded("reading the lock", place(workspace), options.signal, async (call) => {
        const key = `${keyOf(workspace)}.tflock`;
        const found = await fileLock({ s3, sdk, bucket, key, customer }).holder(call);
        return found ?? (await table?.holder(`${bucket}/${keyOf(workspace)}`, call));
      }),
    ...((usesFile || table !== undefined) && {
      unlock: async (workspace: string, id: string, options: BackendCall = {}) =>
        guarded("releasing the lock", place(workspace), options.signal, async (call) => {
          await table?.release(`${bucket}/${keyOf(workspace)}`, id, call);
          const key = `${keyOf(workspace)}.tflock`;
          if (usesFile) await fileLock({ s3, sdk, bucket, key, customer }).release(id, call);
        }),
    }),
    [Symbol.asyncDispose]: async () => s3.destroy(),
  };
}

function customerKey(text: string | undefined): CustomerKey {
  return text === undefined ? undefined : { SSECustomerAlgorithm: "AES256", SSECustomerKey: text };
}

function md5(bytes: Uint8Array | undefined): string {
  return createHash("md5")
    .update(bytes ?? new Uint8Array())
    .digest("hex");
}

function s3Error(what: string, error: unknown): unknown {
  if (error instanceof TfstateError || !(error instanceof Error)) return error;
  const message = error.message === "" ? error.name : error.message;
  return new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${what} failed: ${message}`, {
    cause: error,
  });
}
