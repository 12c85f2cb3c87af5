import { FgBridgeError } from "../errors.ts";
import { requireFunctionUrn } from "../target/function-urn.ts";

/** An HTTP request as an instance of a function gets it. */
export interface InstanceRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface InstanceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What an instance of a function runs. */
export type FunctionCode =
  /** A folder with an executable `bootstrap`, as HTTP functions have it. */
  | { readonly directory: string }
  /** A command; it listens on `127.0.0.1` at the port in `PORT`. */
  | { readonly command: readonly [string, ...string[]]; readonly cwd?: string }
  /** In this process. */
  | {
      readonly handle: (
        request: InstanceRequest,
        options: { readonly signal: AbortSignal },
      ) => Promise<InstanceResponse>;
    };

export interface RuntimeFunction {
  readonly urn: string;
  readonly code: FunctionCode;
  /** `http`: invoked with gateway events. `event`: invoked with what it gets as it stands. @default "http" */
  readonly kind?: "http" | "event";
  /** Variables of its processes. Of the runtime's own they get `PATH` alone. */
  readonly env?: Readonly<Record<string, string>>;
  /** Longest time of one invocation, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
  /** Requests that one instance serves at a time. @default 1 */
  readonly concurrency?: number;
  /** Instances at a time; beyond it invocations are refused. @default 16 */
  readonly maxInstances?: number;
  /** How long an instance waits for the next request, in milliseconds. @default 60_000 */
  readonly idleMs?: number;
  /** Added to every cold start, in milliseconds. @default 0 */
  readonly coldStartMs?: number;
  /** How long an instance may take until it listens, in milliseconds. @default 10_000 */
  readonly initTimeoutMs?: number;
}

export interface ResolvedFunction {
  readonly urn: string;
  readonly region: string;
  readonly project: string;
  readonly name: string;
  readonly qualifier: string;
  readonly code: FunctionCode;
  readonly kind: "http" | "event";
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly maxInstances: number;
  readonly idleMs: number;
  readonly coldStartMs: number;
  readonly initTimeoutMs: number;
}

/** @throws FgBridgeError `FG_URN_INVALID`, `FG_OPTIONS_INVALID` */
export function resolveFunction(definition: RuntimeFunction): ResolvedFunction {
  const { region, project, name, qualifier } = requireFunctionUrn(definition.urn);
  const numbers = {
    timeoutMs: definition.timeoutMs ?? 30_000,
    concurrency: definition.concurrency ?? 1,
    maxInstances: definition.maxInstances ?? 16,
    idleMs: definition.idleMs ?? 60_000,
    coldStartMs: definition.coldStartMs ?? 0,
    initTimeoutMs: definition.initTimeoutMs ?? 10_000,
  };
  for (const [option, value] of Object.entries(numbers)) {
    if (!Number.isFinite(value) || value < 0) {
      throw new FgBridgeError("FG_OPTIONS_INVALID", `${definition.urn}: ${option} is ${value}`);
    }
  }
  return {
    urn: definition.urn,
    region,
    project,
    name,
    qualifier,
    code: definition.code,
    kind: definition.kind ?? "http",
    env: definition.env ?? {},
    ...numbers,
  };
}
