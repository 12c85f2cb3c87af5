import { CtyError, convert, type Type, Value } from "@stackwright/cty";
import type { StateOutput } from "./state-outputs.ts";

/** What a setting of a backend takes. */
export interface RemoteStateBackendSetting {
  readonly type: Type;
  readonly required: boolean;
}

/** Settings by name, each of its type, null where unset. */
export type RemoteStateBackendSettings = ReadonlyMap<string, Value>;

/** How a state is read. */
interface RemoteStateRead {
  readonly signal?: AbortSignal;
  /** The instance of the data source that reads it; undefined outside of a run. */
  readonly address?: string;
  /** Receives what the author of the template should know of a state that is read all the same. */
  readonly warn?: (detail: string) => void;
}

/**
 * A place where other configurations keep their state, for `terraform_remote_state`. The engine may bring backends of
 * its own, for example for the stacks that it runs.
 */
export interface RemoteStateBackend {
  /** The name that templates use: `local`. */
  readonly type: string;
  readonly settings: ReadonlyMap<string, RemoteStateBackendSetting>;
  /** Whether sensitive outputs are always reported as such, regardless of what the provider does for other backends. @default false */
  readonly keepsSensitive?: boolean;
  /** What is wrong with known settings, for the author of the template; `undefined` when nothing is. */
  check(settings: RemoteStateBackendSettings): string | undefined;
  /** SHA-256 of what tells the state of a workspace from all others, in hexadecimal; undefined where that is not known. */
  readonly placeDigest?: (
    settings: RemoteStateBackendSettings,
    workspace: string,
  ) => Promise<string | undefined>;
  /**
   * The state file of a workspace, or its outputs where these are values already, which may have unknown parts; `undefined` where there is none. What it throws is shown to the author of the
   * template, so messages hold no secrets.
   */
  read(
    settings: RemoteStateBackendSettings,
    workspace: string,
    options: RemoteStateRead,
  ): Promise<Uint8Array | ReadonlyMap<string, StateOutput> | undefined>;
}

/** The workspace that every backend has. */
export const DEFAULT_WORKSPACE = "default";

/** The text of a setting; `undefined` where it is null. */
export function textSetting(
  settings: RemoteStateBackendSettings,
  name: string,
): string | undefined {
  const value = settings.get(name);
  return value === undefined || value.isNull ? undefined : value.asString();
}

/**
 * The settings that an object or map gives, converted to what the backend takes. A text says what does not fit; null
 * counts as an empty object.
 */
export function readSettings(
  backend: RemoteStateBackend,
  config: Value,
): RemoteStateBackendSettings | string {
  const given = config.isNull ? new Map<string, Value>() : new Map(config.entries());
  const unexpected = [...given.keys()].find((name) => !backend.settings.has(name));
  if (unexpected !== undefined) return `unsupported attribute ${JSON.stringify(unexpected)}`;
  const settings = new Map<string, Value>();
  for (const [name, { type, required }] of backend.settings) {
    const value = convertSetting(name, given.get(name) ?? Value.null(type), type);
    if (typeof value === "string") return value;
    if (required && value.isNull) return `attribute ${JSON.stringify(name)} is required`;
    settings.set(name, value);
  }
  return settings;
}

function convertSetting(name: string, value: Value, type: Type): Value | string {
  try {
    return convert(value, type);
  } catch (error) {
    if (error instanceof CtyError) return `attribute ${JSON.stringify(name)}: ${error.message}`;
    throw error;
  }
}
