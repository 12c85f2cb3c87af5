import { DeleteRangeRequest, RangeRequest, RequestOp, TxnRequest } from "@stackwright/proto/etcd";
import type { StorageLimits } from "../../capabilities.ts";
import { ResourceEncoder } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import { storeNotEmpty } from "../../restore-target.ts";
import type { CallOptions, Restore } from "../../types.ts";
import { checkResource } from "../../validate.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { type KeyRange, keyAfter, type Layout } from "./layout.ts";
import {
  isRestoring,
  newLineText,
  readText,
  replaceText,
  restoringText,
  textIs,
} from "./store-line.ts";
import { put } from "./transaction.ts";
import { fromValue, toValue } from "./values.ts";

// etcd cannot replace a whole content in one step, but an empty store can be filled: while its record says
// that it is being restored no instance opens it, and every write compares that record. The last step is the
// record of a new line. What an interrupted restore has left is removed by the next one.

/** Resources of one transaction: two keys each, below the 128 operations that etcd takes. */
const LOT_RESOURCES = 50;

/** Bytes of one transaction, beside a first resource of any size; etcd takes 1.5 MiB. */
const LOT_BYTES = 512 * 1024;

/** Keys that are removed at a time. */
const REMOVED_KEYS = 1000;

/** What a restore into an empty store needs. */
interface FillParts {
  readonly client: EtcdClient;
  readonly layout: Layout;
  readonly limits: StorageLimits;
}

/** Starts to fill an empty store. `STORAGE_INVALID_ARGUMENT` when it holds a resource. */
export async function fillStore(parts: FillParts, options: CallOptions = {}): Promise<Restore> {
  const { client, layout, limits } = parts;
  options.signal?.throwIfAborted();
  const key = layout.epochKey;
  const before = await readText(client, key);
  if (!isRestoring(before)) {
    const { kvs } = await client.range(RangeRequest.create({ ...layout.resources, limit: 1n }));
    const [kv] = kvs;
    if (kv !== undefined) throw storeNotEmpty(fromValue(layout, kv).id);
  }
  const mark = restoringText();
  await replaceText(client, key, before, mark);
  await expectText(client, key, mark);
  const write = async (success: readonly RequestOp[]): Promise<void> => {
    // The same puts and deletions again change nothing more, so they may be repeated like a read.
    const request = TxnRequest.create({ compare: [textIs(key, mark)], success: [...success] });
    const { succeeded } = await client.txn(request, "read");
    if (!succeeded) throw takenOver();
  };
  for (const range of [layout.resources, layout.owners]) await clear(client, range, write);
  return new Fill({ client, layout, limits, mark, write });
}

/** A restore under the record that it wrote. */
interface RunningFill extends FillParts {
  readonly mark: string;
  /** Applies operations while the record is still this one. */
  readonly write: (operations: readonly RequestOp[]) => Promise<void>;
}

class Fill implements Restore {
  readonly #parts: RunningFill;
  readonly #encoder = new ResourceEncoder();
  #lot: RequestOp[] = [];
  #resources = 0;
  #bytes = 0;
  #over = false;

  constructor(parts: RunningFill) {
    this.#parts = parts;
  }

  async apply(resource: Resource): Promise<void> {
    this.#check();
    const { layout, limits } = this.#parts;
    checkResource(resource, limits);
    const { id, owner } = resource;
    const value = toValue(this.#encoder, resource);
    if (this.#resources === LOT_RESOURCES || this.#bytes + value.length > LOT_BYTES) {
      await this.#flush();
    }
    this.#lot.push(put(layout.resource(id), value));
    if (owner !== undefined) this.#lot.push(put(layout.ownerEntry(owner, id), new Uint8Array()));
    this.#resources += 1;
    this.#bytes += value.length;
  }

  async commit(): Promise<void> {
    this.#check();
    await this.#flush();
    this.#over = true;
    const { client, layout, mark } = this.#parts;
    const line = newLineText(client.clusterId);
    await replaceText(client, layout.epochKey, mark, line);
    await expectText(client, layout.epochKey, line);
  }

  async abort(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#lot = [];
    const { client, layout, write } = this.#parts;
    try {
      for (const range of [layout.resources, layout.owners]) await clear(client, range, write);
      await write([remove({ key: layout.epochKey })]);
    } catch {
      // The record stays, so the store stays closed until the next restore.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.abort();
  }

  #check(): void {
    if (this.#over) throw new StorageError("STORAGE_INVALID_ARGUMENT", "the restore is over");
  }

  async #flush(): Promise<void> {
    const lot = this.#lot;
    this.#lot = [];
    this.#resources = 0;
    this.#bytes = 0;
    if (lot.length > 0) await this.#parts.write(lot);
  }
}

/** Removes all keys of a range, so many at a time. */
async function clear(
  client: EtcdClient,
  range: KeyRange,
  write: (operations: readonly RequestOp[]) => Promise<void>,
): Promise<void> {
  for (;;) {
    const request = RangeRequest.create({ ...range, keysOnly: true, limit: BigInt(REMOVED_KEYS) });
    const { kvs } = await client.range(request);
    const last = kvs.at(-1);
    if (last === undefined) return;
    await write([remove({ key: range.key, rangeEnd: keyAfter(last.key) })]);
  }
}

async function expectText(client: EtcdClient, key: Buffer, text: string): Promise<void> {
  if ((await readText(client, key)) !== text) throw takenOver();
}

function takenOver(): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "another process opened or restores the store", {
    details: { outcome: "not-applied" },
  });
}

function remove(range: { readonly key: Buffer; readonly rangeEnd?: Buffer }): RequestOp {
  const value = DeleteRangeRequest.create(range);
  return RequestOp.create({ request: { $case: "requestDeleteRange", value } });
}
