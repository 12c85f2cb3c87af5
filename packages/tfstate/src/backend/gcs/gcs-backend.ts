import type { BackendArguments } from "../backend-arguments.ts";
import { isOwnLock, lockedError, lockIdOf, lockText } from "../lock-record.ts";
import { type HeldLock, type StateBackend, sortedWorkspaces } from "../state-backend.ts";
import type { GcsEnvironment } from "./gcs-credentials.ts";
import { gcsObjects } from "./gcs-objects.ts";

const STATE = ".tfstate";

/** Objects of a bucket of Google Cloud Storage; a lock is an object that is written only where there is none. */
export function gcsBackend(
  configuration: BackendArguments,
  environment: GcsEnvironment,
): StateBackend {
  const bucket = configuration.need("bucket");
  const given = (configuration.text("prefix") ?? "").replace(/^\/+/, "");
  const prefix = given === "" || given.endsWith("/") ? given : `${given}/`;
  const objects = gcsObjects(configuration, bucket, environment);
  const nameOf = (workspace: string): string => `${prefix}${workspace}${STATE}`;
  const lockOf = (workspace: string): string => `${prefix}${workspace}.tflock`;
  const place = (workspace: string): string => `gcs bucket ${bucket}, object ${nameOf(workspace)}`;
  // The reference command encrypts states alone.
  const plain = { encrypted: false } as const;

  return {
    type: "gcs",
    place,
    identity: (workspace) => `${objects.base}${bucket}/${nameOf(workspace)}`,
    workspaces: async (call = {}) => {
      const names = await objects.list(prefix, call);
      const states = names.filter((name) => name.startsWith(prefix) && name.endsWith(STATE));
      return sortedWorkspaces(
        states
          .map((name) => name.slice(prefix.length, -STATE.length))
          .filter((name) => name !== "" && !name.includes("/")),
      );
    },
    read: async (workspace, { signal } = {}) => {
      const options = { signal, encrypted: true };
      const found = await objects.read(nameOf(workspace), place(workspace), options);
      return found === undefined || found.bytes.length === 0 ? undefined : found.bytes;
    },
    write: async (workspace, bytes, { signal } = {}) => {
      const options = { signal, encrypted: true, onlyNew: false };
      await objects.write(nameOf(workspace), place(workspace), bytes, options);
    },
    lock: async (workspace, record, { signal } = {}): Promise<HeldLock> => {
      const name = lockOf(workspace);
      const where = place(workspace);
      const named = { ...record, Path: `gs://${bucket}/${name}` };
      const options = { signal, ...plain, onlyNew: true };
      let generation = await objects.write(name, where, lockText(named), options);
      if (generation === undefined) {
        const holder = await objects.read(name, where, { signal, ...plain });
        const text = holder?.bytes.toString("utf8");
        if (!isOwnLock(text, record)) throw lockedError(where, text, holder?.generation);
        generation = holder?.generation ?? "";
      }
      const own = generation;
      return {
        id: record.ID,
        unlockArgument: own,
        outlivesProcess: true,
        release: async (call = {}) => objects.remove(name, where, own, call),
      };
    },
    lockHolder: async (workspace, { signal } = {}) => {
      const options = { signal, ...plain };
      const holder = await objects.read(lockOf(workspace), place(workspace), options);
      return holder?.bytes.toString("utf8");
    },
    unlock: async (workspace, id, { signal } = {}) => {
      const name = lockOf(workspace);
      const where = place(workspace);
      const holder = await objects.read(name, where, { signal, ...plain });
      if (holder === undefined || lockIdOf(holder.bytes.toString("utf8")) !== id) return;
      await objects.remove(name, where, holder.generation, { signal });
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
