import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { lockedError, lockText } from "../lock-record.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import {
  type BackendCall,
  DEFAULT_WORKSPACE,
  type HeldLock,
  type StateBackend,
  sortedWorkspaces,
} from "../state-backend.ts";
import { MAX_STATE_BYTES, stateTooLarge, unpackedState } from "../state-bytes.ts";
import { type ConsulStore, consulStore } from "./consul-store.ts";

const TTL_SECONDS = 15;
/** What is too large for one key is written in parts of this size. */
const PART_BYTES = 524_288;

/** Keys of Consul; a lock is a key that a session has, which ends soon after its process. */
export function consulBackend(
  configuration: BackendArguments,
  options: OpenBackendOptions,
): StateBackend {
  const path = configuration.need("path");
  const compresses = configuration.flag("gzip") ?? false;
  const locks = configuration.flag("lock") ?? true;
  const store = consulStore(configuration, options);
  const { maxBytes = MAX_STATE_BYTES } = options;
  const keyOf = (workspace: string): string =>
    workspace === DEFAULT_WORKSPACE ? path : `${path}-env:${workspace}`;
  const place = (workspace: string): string => `consul key ${keyOf(workspace)}`;
  /** Of what was read: it is written only where it is still the same. */
  const indexes = new Map<string, number>();
  const renewals = new Set<Disposable>();
  /** Sessions that have the locks of workspaces. */
  const sessions = new Map<string, string>();

  const write = async (
    workspace: string,
    key: string,
    bytes: Uint8Array,
    call: BackendCall,
  ): Promise<void> => {
    const session = sessions.get(workspace);
    // Where a session ended, another command may have the lock: what is written then would undo its work.
    const lock = session === undefined ? undefined : { key: lockOf(workspace), session };
    const before = partsOf((await store.get(key, call))?.bytes);
    const payload = compresses ? gzipSync(bytes) : bytes;
    const index = indexes.get(key);
    let stored = await store.store(key, payload, { ...call, index, lock });
    if (stored === undefined) {
      const hash = md5(bytes);
      const chunks: string[] = [];
      for (let at = 0; at * PART_BYTES < payload.length; at += 1) {
        const name = `${folderOf(key)}/tfstate.${hash}/${at}`;
        const part = payload.subarray(at * PART_BYTES, (at + 1) * PART_BYTES);
        await store.put(name, part, call);
        chunks.push(name);
      }
      const list = Buffer.from(JSON.stringify({ "current-hash": hash, chunks }));
      stored = await store.store(key, list, { ...call, index, lock });
      if (before?.hash === hash) return keep(key, stored);
    }
    keep(key, stored);
    if (before === undefined) return;
    await store.remove(`${folderOf(key)}/tfstate.${before.hash}/`, { ...call, recurse: true });
  };
  const keep = (key: string, index: number | undefined): void => {
    if (index === undefined)
      throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `consul key ${key}: it is too large`);
    indexes.set(key, index);
  };
  const lockOf = (workspace: string) => `${folderOf(keyOf(workspace))}/.lock`;
  const infoOf = (workspace: string) => `${folderOf(keyOf(workspace))}/.lockinfo`;
  const release = async (workspace: string, session: string, call: BackendCall): Promise<void> => {
    await store.remove(infoOf(workspace), call);
    await store.release(lockOf(workspace), session, call);
    await store.destroySession(session, call);
  };

  return {
    type: "consul",
    identity: (workspace) => `${store.identity}/${keyOf(workspace)}`,
    place,
    workspaces: async (call = {}) => {
      const prefix = `${path.replace(/^\//, "")}-env:`;
      const keys = await store.keys(prefix, call);
      const names = keys.map((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : ""));
      return sortedWorkspaces(names.filter((name) => name !== "" && !name.includes("/")));
    },
    read: async (workspace, call = {}) => {
      const key = keyOf(workspace);
      const found = await store.get(key, call);
      indexes.set(key, found?.index ?? 0);
      if (found === undefined || found.bytes.length === 0) return undefined;
      return whole(store, found.bytes, { place: place(workspace), maxBytes }, call);
    },
    write: async (workspace, bytes, { signal } = {}) =>
      write(workspace, keyOf(workspace), bytes, { signal }),
    lock: async (workspace, record, call = {}): Promise<HeldLock> => {
      if (!locks) return { id: record.ID, outlivesProcess: false, release: async () => undefined };
      const session = await store.createSession(TTL_SECONDS, call);
      try {
        if (!(await store.acquire(lockOf(workspace), session, call))) {
          const holder = await store.get(infoOf(workspace), call);
          throw lockedError(place(workspace), holder?.bytes.toString("utf8"));
        }
        const named = { ...record, ID: session, Path: keyOf(workspace) };
        await store.put(infoOf(workspace), lockText(named), call);
      } catch (error) {
        await store.destroySession(session, {}).catch(() => undefined);
        throw error;
      }
      sessions.set(workspace, session);
      const renewal = renewed(store, session);
      renewals.add(renewal);
      return {
        id: session,
        outlivesProcess: false,
        release: async (ending = {}) => {
          renewal[Symbol.dispose]();
          sessions.delete(workspace);
          await release(workspace, session, ending);
        },
      };
    },
    retire: async (workspace, suffix, marker) => {
      const key = keyOf(workspace);
      const found = await store.get(key, {});
      const name = `${key}.${suffix}`;
      if (found !== undefined) {
        await write(
          workspace,
          name,
          await whole(store, found.bytes, { place: place(workspace), maxBytes }, {}),
          {},
        );
      }
      await write(workspace, key, marker, {});
      return `consul key ${name}`;
    },
    [Symbol.asyncDispose]: async () => {
      for (const renewal of renewals) renewal[Symbol.dispose]();
    },
  };
}

/**
 * A session lives as long as it is renewed; half its time is what other clients take as well. One that ended all the same is noticed by
 * the next write.
 */
function renewed(store: ConsulStore, session: string): Disposable {
  const timer = setInterval(
    () => void store.renewSession(session, {}).catch(() => undefined),
    (TTL_SECONDS / 2) * 1000,
  );
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The whole state of the value of its key: its parts joined, and unpacked. */
async function whole(
  store: ConsulStore,
  value: Buffer,
  { place, maxBytes }: { readonly place: string; readonly maxBytes: number },
  call: BackendCall,
): Promise<Buffer> {
  const parts = partsOf(value);
  let bytes = value;
  if (parts !== undefined) {
    const read: Buffer[] = [];
    let size = 0;
    for (const key of parts.chunks) {
      const part = await store.get(key, call);
      if (part === undefined) throw digestError(place, `the part ${key} is missing`);
      size += part.bytes.length;
      if (size > maxBytes) throw stateTooLarge(place, maxBytes);
      read.push(part.bytes);
    }
    bytes = Buffer.concat(read);
  }
  if (bytes[0] === 0x1f) bytes = unpackedState(bytes, place, maxBytes);
  if (parts !== undefined && md5(bytes) !== parts.hash)
    throw digestError(place, `it has the digest ${md5(bytes)}, and ${parts.hash} is recorded`);
  return bytes;
}

function digestError(place: string, what: string): TfstateError {
  return new TfstateError("TFSTATE_BACKEND_DIGEST", `${place}: ${what}`);
}

/** Where a key names the parts of its state. */
function partsOf(
  value: Buffer | undefined,
): { readonly hash: string; readonly chunks: readonly string[] } | undefined {
  if (value === undefined || value[0] !== 0x7b) return undefined;
  try {
    const read = JSON.parse(value.toString("utf8")) as Readonly<Record<string, unknown>>;
    const { "current-hash": hash, chunks } = read;
    if (typeof hash !== "string" || !Array.isArray(chunks)) return undefined;
    return { hash, chunks: chunks.map(String) };
  } catch {
    return undefined;
  }
}

function folderOf(key: string): string {
  return key.replace(/\/+$/, "");
}

function md5(bytes: Uint8Array): string {
  return createHash("md5").update(bytes).digest("hex");
}
