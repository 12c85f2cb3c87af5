import type { TfeCaller } from "./caller.ts";

/** A state of a workspace. Serial and MD5 identify it. */
export interface TfeStateVersion {
  readonly serial: bigint;
  /** Of the bytes, in hexadecimal. */
  readonly md5: string;
  readonly lineage: string;
  readonly terraformVersion: string;
  readonly bytes: number;
  readonly createdAtMs: number;
}

/** Names a state of a workspace. */
export type StateKey = Pick<TfeStateVersion, "serial" | "md5">;

/** A state that is announced, before its bytes arrive. */
export interface AnnouncedState extends StateKey {
  readonly workspace: string;
  /** Accepts any serial and lineage. */
  readonly force: boolean;
}

/** The states of workspaces: bytes that commands stored, and those of stacks that the server runs. */
export interface StatePort {
  /** Undefined where there is none. */
  current(caller: TfeCaller, workspace: string): Promise<TfeStateVersion | undefined>;
  find(caller: TfeCaller, workspace: string, key: StateKey): Promise<TfeStateVersion | undefined>;
  /** The newest first. */
  list(caller: TfeCaller, workspace: string): Promise<readonly TfeStateVersion[]>;
  /** The bytes; undefined where they are not kept any more. */
  read(
    caller: TfeCaller,
    workspace: string,
    key: StateKey,
  ): Promise<{ readonly bytes: number; readonly content: AsyncIterable<Uint8Array> } | undefined>;
  /**
   * Checks whether the caller may store a state that follows the present one: it has the lock of the workspace. Resolves with what
   * identifies that lock, for {@link store}.
   */
  announce(caller: TfeCaller, state: AnnouncedState): Promise<string>;
  /** Stores the bytes under the lock that {@link announce} saw. The same bytes again have no effect. */
  store(
    caller: TfeCaller,
    state: AnnouncedState & { readonly lock: string },
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Reads a form of a state that is not kept, within the bounds of {@link store}. */
  skip(caller: TfeCaller, content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void>;
}
