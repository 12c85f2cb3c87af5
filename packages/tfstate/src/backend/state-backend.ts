/** Options of every call that may wait. */
export interface BackendCall {
  readonly signal?: AbortSignal | undefined;
}

/** A lock that was acquired. */
export interface HeldLock {
  /** The ID of its record: what {@link StateBackend.unlock} takes. */
  readonly id: string;
  /** The argument of `terraform force-unlock`. @default the ID */
  readonly unlockArgument?: string;
  /** Whether the lock stays when the process ends without a release. */
  readonly outlivesProcess: boolean;
  /** Releases the lock. */
  release(call?: BackendCall): Promise<void>;
}

/** Where another command keeps the states of one root module, by workspace. */
export interface StateBackend extends AsyncDisposable {
  /** Type as in a `backend` block, such as `s3`. */
  readonly type: string;
  /** Where the state of a workspace is, on one line, without credentials. */
  place(workspace: string): string;
  /**
   * What tells the state of a workspace from every other one of the same type, on every machine: its server and its name there.
   * Undefined where the configuration does not say which server it is. It may hold credentials: only its digest is stored.
   */
  readonly identity?: ((workspace: string) => string) | undefined;
  /** Names of the workspaces that have a state; `default` first. */
  workspaces(call?: BackendCall): Promise<readonly string[]>;
  /** The bytes of a state as they are stored. Undefined where there is none. */
  read(workspace: string, call?: BackendCall): Promise<Uint8Array | undefined>;
  /** Replaces the state of a workspace. The caller holds the lock, or `lockId` names the one that the backend has. */
  write(
    workspace: string,
    bytes: Uint8Array,
    call?: BackendCall & { readonly lockId?: string },
  ): Promise<void>;
  /** Acquires the lock of a workspace. `TFSTATE_BACKEND_LOCKED` with the record of its holder. */
  lock(workspace: string, record: LockRecord, call?: BackendCall): Promise<HeldLock>;
  /**
   * Keeps the state under a name with the suffix, and puts a marker in its place; returns the new name. Undefined where the
   * backend has locks that outlive their process, which need no such marker, or cannot rename.
   */
  readonly retire?: (workspace: string, suffix: string, marker: Uint8Array) => Promise<string>;
  /**
   * The stored record of the holder of the lock of a workspace, which is not acquired; undefined where it is free. Without it a
   * backend shows its holder to those alone that ask for the lock.
   */
  readonly lockHolder?: (workspace: string, call?: BackendCall) => Promise<string | undefined>;
  /** Releases a lock that an earlier process left. Undefined where locks end with their process. */
  readonly unlock?: (workspace: string, id: string, call?: BackendCall) => Promise<void>;
}

/** The record of a lock and its holder, with the names of its members as all Terraform backends store them. */
export interface LockRecord {
  readonly ID: string;
  readonly Operation: string;
  readonly Info: string;
  readonly Who: string;
  readonly Version: string;
  /** RFC 3339. */
  readonly Created: string;
  readonly Path: string;
}

/** The name of the workspace that every backend has. */
export const DEFAULT_WORKSPACE = "default";

/** `default` first, then the others by name. */
export function sortedWorkspaces(names: Iterable<string>): string[] {
  const others = [...new Set(names)].filter((name) => name !== DEFAULT_WORKSPACE).sort();
  return [DEFAULT_WORKSPACE, ...others];
}
