import type { StorageErrorCode, StorageErrorDetails } from "../../errors.ts";

/** How the host gets its store: a module and the name of a factory in it. */
export interface HostTarget {
  readonly module: string;
  readonly factory: string;
  readonly options: unknown;
}

/** What the parent asks the host for. */
export type HostRequest =
  | { readonly id: number; readonly kind: "open"; readonly target: HostTarget }
  | {
      readonly id: number;
      readonly kind: "call";
      readonly method: HostMethod;
      readonly args: readonly unknown[];
    }
  | {
      readonly id: number;
      readonly kind: "watch";
      readonly watch: number;
      readonly args: readonly unknown[];
    }
  | { readonly id: number; readonly kind: "next"; readonly watch: number }
  | { readonly id: number; readonly kind: "unwatch"; readonly watch: number };

/** Methods that go over as they are. */
export type HostMethod =
  | "read"
  | "writeCAS"
  | "deleteCAS"
  | "list"
  | "listPage"
  | "listHeads"
  | "listByOwner"
  | "batch"
  | "close";

/** What the host answers. */
export type HostResponse =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | {
      readonly id: number;
      readonly ok: false;
      readonly code: StorageErrorCode;
      readonly message: string;
      readonly details: StorageErrorDetails;
    };
