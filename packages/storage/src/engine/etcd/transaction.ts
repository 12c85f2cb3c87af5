import {
  Compare,
  Compare_CompareResult,
  Compare_CompareTarget,
  DeleteRangeRequest,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from "@stackwright/proto/etcd";
import type { ResourceEncoder } from "../../codec.ts";
import {
  checkDeletePreconditions,
  checkWritePreconditions,
  guardFailed,
  guardHolds,
  refused,
} from "../../preconditions.ts";
import type { BatchOperation, Guard } from "../../types.ts";
import type { KeyRange, Layout } from "./layout.ts";
import { toValue } from "./values.ts";
import type { WriteAnswer } from "./write-groups.ts";

/** Mod revision that no key has. */
const NEVER = -1n;

/** A request: guards first, then operations, all or nothing. */
export interface WriteRequest {
  readonly guards: readonly Guard[];
  readonly operations: readonly BatchOperation[];
  /** Whether errors carry the position of their operation. */
  readonly batch: boolean;
}

/**
 * The transaction that applies a request if every guard holds and every expected version is there.
 * The deletes in `skipped` are expected to find nothing to delete. If anything is otherwise, it
 * changes nothing and returns what is stored under every name concerned.
 */
export function buildTransaction(
  layout: Layout,
  encoder: ResourceEncoder,
  request: WriteRequest,
  skipped: ReadonlySet<number>,
): TxnRequest {
  const compare: Compare[] = [];
  const success: RequestOp[] = [];
  const failure: RequestOp[] = [];
  for (const { id, version } of request.guards) {
    const anyLifetime = version === "" || id.uid === "";
    const where = anyLifetime ? layout.lifetimes(id) : layout.resource(id);
    compare.push(modIs(where, version === "" ? 0n : layout.modRevision(id, version)));
    failure.push(rangeOf(layout.lifetimes(id)));
  }
  for (const [index, operation] of request.operations.entries()) {
    if (operation.kind === "write") {
      const { id, version, owner } = operation.resource;
      const key = layout.resource(id);
      compare.push(
        version === ""
          ? modIs(layout.lifetimes(id), 0n)
          : modIs(key, layout.modRevision(id, version)),
      );
      failure.push(rangeOf(layout.lifetimes(id)));
      const value = toValue(encoder, operation.resource);
      success.push(put(key, value));
      if (owner !== undefined) success.push(put(layout.ownerEntry(owner, id), new Uint8Array()));
    } else {
      const key = layout.resource(operation.id);
      failure.push(rangeOf(layout.lifetimes(operation.id)));
      if (skipped.has(index)) {
        compare.push(modIs(key, 0n));
        continue;
      }
      compare.push(modIs(key, layout.modRevision(operation.id, operation.version)));
      const request = DeleteRangeRequest.create({ key, prevKv: true });
      success.push(RequestOp.create({ request: { $case: "requestDeleteRange", value: request } }));
    }
  }
  return TxnRequest.create({ compare, success, failure });
}

/**
 * Judges a request by what a failed transaction has found. Throws what is refused; otherwise gives
 * the deletes that have nothing to delete.
 */
export function classifyTransactionFailure(
  layout: Layout,
  request: WriteRequest,
  answer: WriteAnswer,
): ReadonlySet<number> {
  const found = answer.responses.map((one) => {
    const kv = one.response?.$case === "responseRange" ? one.response.value.kvs[0] : undefined;
    if (kv === undefined) return undefined;
    const uid = layout.identity(kv.key).split("\0").at(-1) ?? "";
    return { uid, version: layout.versionOf(kv) };
  });
  for (const [index, guard] of request.guards.entries()) {
    if (!guardHolds(found[index], guard)) throw guardFailed(guard);
  }
  const skipped = new Set<number>();
  for (const [index, operation] of request.operations.entries()) {
    const stored = found[request.guards.length + index];
    const position = request.batch ? index : undefined;
    if (operation.kind === "write") {
      const { id, version } = operation.resource;
      const refusal = checkWritePreconditions(stored, id.uid, version);
      if (refusal !== undefined) throw refused(refusal, id, version, position);
    } else {
      const { id, version } = operation;
      const verdict = checkDeletePreconditions(stored, id.uid, version);
      if (verdict === "STORAGE_CAS_FAILURE") throw refused(verdict, id, version, position);
      if (verdict === "skip") skipped.add(index);
    }
  }
  return skipped;
}

/** The transaction that removes an owner entry if its resource is still as it was seen. */
export function removeEntry(entry: Buffer, resource: Buffer, seen: bigint): TxnRequest {
  const request = DeleteRangeRequest.create({ key: entry });
  return TxnRequest.create({
    compare: [modIs(resource, seen)],
    success: [RequestOp.create({ request: { $case: "requestDeleteRange", value: request } })],
  });
}

/** A get as part of a transaction. */
export function getOf(key: Buffer): RequestOp {
  const value = RangeRequest.create({ key });
  return RequestOp.create({ request: { $case: "requestRange", value } });
}

/** That a key, or every key of a range, has a mod revision, or a higher one; 0 means that there is none. */
export function modIs(
  where: Buffer | KeyRange,
  modRevision: bigint = NEVER,
  comparison: "equal" | "above" = "equal",
): Compare {
  const range = Buffer.isBuffer(where) ? { key: where } : where;
  return Compare.create({
    ...range,
    result: comparison === "equal" ? Compare_CompareResult.EQUAL : Compare_CompareResult.GREATER,
    target: Compare_CompareTarget.MOD,
    targetUnion: { $case: "modRevision", value: modRevision },
  });
}

function rangeOf(range: KeyRange): RequestOp {
  const value = RangeRequest.create({ ...range, keysOnly: true });
  return RequestOp.create({ request: { $case: "requestRange", value } });
}

/** A put as part of a transaction. */
export function put(key: Buffer, bytes: Uint8Array): RequestOp {
  const value = PutRequest.create({ key, value: bytes });
  return RequestOp.create({ request: { $case: "requestPut", value } });
}
