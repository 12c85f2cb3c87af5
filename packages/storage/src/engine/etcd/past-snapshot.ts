import { RpcError } from "@stackwright/proto/grpc";
import { StorageError } from "../../errors.ts";
import { formatCursor } from "../../feed/cursor.ts";
import type { PastSnapshots } from "../../past-snapshots.ts";
import type { Resource } from "../../resource.ts";
import type { ReadManyOptions, Snapshot, StorageBackend } from "../../types.ts";
import { abortable } from "../abortable.ts";
import { EngineBackend } from "../engine-backend.ts";
import type { EtcdEngine } from "./etcd-engine.ts";
import type { EtcdWatchContext } from "./open-watch.ts";
import { endOfRevision } from "./position.ts";
import { scanValues } from "./scan.ts";
import { readText } from "./store-line.ts";
import { fromValues } from "./values.ts";

/** A store in etcd. */
export interface EtcdStorage extends StorageBackend, PastSnapshots {}

/** The engine with what only it can do: the cluster answers at each revision that was not compacted. */
export class EtcdBackend extends EngineBackend implements EtcdStorage {
  readonly #source: EtcdWatchContext;

  constructor(engine: EtcdEngine, source: EtcdWatchContext) {
    super(engine);
    this.#source = source;
  }

  async snapshotAt(revision: number, options: ReadManyOptions = {}): Promise<Snapshot> {
    options.signal?.throwIfAborted();
    this.checkOpen();
    if (!Number.isSafeInteger(revision) || revision < 1)
      throw noSuchView("its number is not valid");
    const at = BigInt(revision);
    const pages = this.#pages(at, options);
    const first = await abortable(this.#begin(at, pages), options.signal);
    const close = async (): Promise<void> => {
      await pages.return(undefined);
    };
    return {
      cursor: formatCursor(this.#source.epoch, endOfRevision(at)),
      async *[Symbol.asyncIterator]() {
        try {
          for (let page = first; page.done !== true; page = await pages.next()) yield* page.value;
        } finally {
          await close();
        }
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  /** The first page, of a revision at which the store was of the line that it is of now. */
  async #begin(
    at: bigint,
    pages: AsyncGenerator<readonly Resource[], undefined>,
  ): Promise<IteratorResult<readonly Resource[], undefined>> {
    const first = await pages.next();
    const { client, layout } = this.#source;
    // The cluster may be compacted between the page and this, as between any two pages.
    const [then, now] = await Promise.all([
      readText(client, layout.epochKey, at).catch((error: unknown) => {
        throw goneView(error) ?? error;
      }),
      readText(client, layout.epochKey),
    ]);
    // Behind the name is where the store is, which later releases have added.
    if (then !== undefined && then.split(" ")[0] === now?.split(" ")[0]) return first;
    throw noSuchView(
      then === undefined ? "there was no store" : "the store was of another line, before a restore",
    );
  }

  async *#pages(
    at: bigint,
    { onDamaged, signal }: ReadManyOptions,
  ): AsyncGenerator<readonly Resource[], undefined> {
    const { client, layout } = this.#source;
    const start = { revision: at, after: new Uint8Array() };
    try {
      for await (const { selected } of scanValues(client, layout, undefined, start)) {
        signal?.throwIfAborted();
        yield fromValues(layout, selected, onDamaged);
      }
    } catch (error) {
      throw goneView(error) ?? error;
    }
  }
}

function goneView(error: unknown): StorageError | undefined {
  if (!(error instanceof StorageError) || !(error.cause instanceof RpcError)) return undefined;
  const { code, rawMessage } = error.cause;
  if (code !== "OUT_OF_RANGE") return undefined;
  const why = rawMessage.includes("compacted")
    ? "the cluster was compacted since and has forgotten it"
    : "the cluster has not come to it yet";
  return noSuchView(why, error);
}

function noSuchView(why: string, cause?: unknown): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", `the store has no such revision: ${why}`, {
    details: { field: "revision" },
    cause,
  });
}
