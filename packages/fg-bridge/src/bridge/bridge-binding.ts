import { isJsonObject } from "@stackwright/base/json";
import type { CallerOptions } from "../caller/caller-options.ts";
import { FgBridgeError } from "../errors.ts";

/** Where the bridge of a user finds the function. Public: it is part of an archive. */
export type BridgeEndpoint =
  | { readonly kind: "url"; readonly url: string }
  | {
      readonly kind: "functiongraph";
      /** Of the invoke API. */
      readonly endpoint: string;
      readonly functionKind?: "http" | "event";
    };

/** What an archive holds in addition to the program: which provider it is, and its function. No secrets. */
export interface BridgeManifest {
  /** Address of the provider, as templates name it. */
  readonly address: string;
  readonly version: string;
  readonly functionUrn: string;
  readonly endpoint: BridgeEndpoint;
  /** Private networks that the function may be in. */
  readonly networks?: readonly string[];
  /** Base64 of the `GetProviderSchema.Response` to give. */
  readonly schema: string;
}

/** What the user's environment adds. */
export interface BridgeEnvironment {
  readonly caller: CallerOptions;
  readonly accessKey?: string;
  readonly secretKey?: string;
  readonly securityToken?: string;
  readonly bearerToken?: string;
  /** How long an apply may continue after a request to stop, in milliseconds. */
  readonly stopGraceMs: number;
}

/** The variables that a bridge reads. */
export const BRIDGE_VARIABLES = {
  accessKey: "STACKWRIGHT_ACCESS_KEY",
  secretKey: "STACKWRIGHT_SECRET_KEY",
  securityToken: "STACKWRIGHT_SECURITY_TOKEN",
  bearerToken: "STACKWRIGHT_FUNCTION_TOKEN",
  timeoutMs: "STACKWRIGHT_FUNCTION_TIMEOUT_MS",
  stopGraceMs: "STACKWRIGHT_STOP_GRACE_MS",
} as const;

/** @throws FgBridgeError `FG_OPTIONS_INVALID` */
export function readBridgeEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): BridgeEnvironment {
  const text = (name: string) => (env[name] === "" ? undefined : env[name]);
  const number = (name: string, fallback: number) => {
    const value = Number(text(name) ?? fallback);
    if (Number.isFinite(value) && value > 0) return value;
    throw new FgBridgeError("FG_OPTIONS_INVALID", `${name} must be a number of milliseconds`);
  };
  const accessKey = text(BRIDGE_VARIABLES.accessKey);
  const secretKey = text(BRIDGE_VARIABLES.secretKey);
  const securityToken = text(BRIDGE_VARIABLES.securityToken);
  const bearerToken = text(BRIDGE_VARIABLES.bearerToken);
  return {
    caller: { timeouts: { totalMs: number(BRIDGE_VARIABLES.timeoutMs, 30_000) } },
    stopGraceMs: number(BRIDGE_VARIABLES.stopGraceMs, 5000),
    ...(accessKey === undefined ? {} : { accessKey }),
    ...(secretKey === undefined ? {} : { secretKey }),
    ...(securityToken === undefined ? {} : { securityToken }),
    ...(bearerToken === undefined ? {} : { bearerToken }),
  };
}

/** Name of the global under which an executable carries its manifest. */
export const MANIFEST_GLOBAL = "__stackwrightBridge";

/** The manifest that the executable was made with. */
export function ownManifest(): BridgeManifest {
  const value = (globalThis as Readonly<Record<string, unknown>>)[MANIFEST_GLOBAL];
  if (isJsonObject(value)) return value as unknown as BridgeManifest;
  throw new FgBridgeError("FG_OPTIONS_INVALID", "this program was not packed for a function");
}
