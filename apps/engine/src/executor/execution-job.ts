import type { StackReference } from "@stackwright/core";
import type { RunClaim } from "../queue/claim.ts";

/** What an executor has to do. JSON, as it travels over the control pipe of a child process. */
export interface ExecutionJob {
  /** `sw-<run>-<attempt>`. */
  readonly name: string;
  readonly stack: StackReference;
  readonly run: string;
  readonly step: RunClaim["step"];
  readonly mode: "normal" | "destroy" | "refresh-only";
  /** Name of the stack: `terraform.workspace`. */
  readonly workspace: string;
  /**
   * What was decided about a Terraform state of the configuration: nothing, where its objects come from, or that the stack takes
   * no more runs, as its state was handed back or its name belongs to another stack.
   */
  readonly adoption: "none" | "recorded" | "ended";
  readonly configuration: {
    readonly digest: string;
    readonly archiveSha256: string;
    /** Folder of the root module in the archive. @default the root of the archive */
    readonly root?: string;
  };
  /** Whether the project may execute provisioners. */
  readonly provisioners: boolean;
  readonly targets: readonly string[];
  readonly replace: readonly string[];
  /** The approved plan. */
  readonly planDigest?: string;
  /** Values of root variables, as texts. */
  readonly variables: Readonly<Record<string, string>>;
  /** Values of root variables that the run was requested with, as expressions of the language. @default none */
  readonly runVariables?: Readonly<Record<string, string>>;
  /** Plans without reading any object. @default false */
  readonly skipRefresh?: boolean;
  /** Environment of provider processes. */
  readonly environment: Readonly<Record<string, string>>;
  /** Names of the sensitive ones among both, which nothing shows. */
  readonly sensitive: {
    readonly variables: readonly string[];
    readonly environment: readonly string[];
  };
  /** A folder of its own, with mode 0700. */
  readonly folder: string;
  /** Where providers are installed for all runs of this machine. */
  readonly providersFolder: string;
  /** Data keys of the stack, for this execution only: number and bytes in base64. */
  readonly keys: readonly { readonly number: number; readonly bytes: string }[];
  /** Where the store is, for an executor in another process. */
  readonly store?: JobStore;
}

/** How an execution ended. Without one of these the executor was lost, and the store says what it left. */
export type ExecutionResult =
  | {
      readonly phase: "planned";
      readonly planDigest: string;
      readonly baseRevision: string;
      readonly summary: {
        readonly create: number;
        readonly update: number;
        readonly replace: number;
        readonly delete: number;
        readonly import: number;
        readonly move: number;
        readonly forget: number;
      };
      /** The redacted plan, in the blob store. */
      readonly documentSha256: string;
      /** The plan as a view (`@stackwright/plan-view`), in the blob store. */
      readonly viewSha256: string;
    }
  | { readonly phase: "no_changes"; readonly revision: string }
  | {
      readonly phase: "applied" | "partially_applied" | "failed" | "canceled" | "superseded";
      readonly revision?: string;
      readonly reason?: string;
      readonly reasonCode?: string;
    }
  /** Something of the run is still open: the next executor recovers it. */
  | { readonly phase: "interrupted"; readonly reason: string };

/** The storage service as an executor reaches it: by a socket of its worker, or at a server. */
export interface JobStore {
  readonly address:
    | { readonly socketPath: string }
    | { readonly host: string; readonly port: number };
  readonly token: string;
  /** Encrypts; without it the connection is in the clear. `trusted` are authorities in PEM, beside those of Node where it is absent. */
  readonly tls?: { readonly trusted?: string };
}
