import { Path, Type, Value } from "@stackwright/cty";
import type {
  LifecycleContext,
  ProviderDiagnostic,
  ReadDataReply,
  ReadDataRequest,
  Reply,
  ValidateResourceRequest,
} from "@stackwright/mux/router";
import {
  DEFAULT_WORKSPACE,
  type RemoteStateBackend,
  type RemoteStateBackendSettings,
  readSettings,
} from "./remote-state-backend.ts";
import { readStateOutputs } from "./state-outputs.ts";

/** The data source `terraform_remote_state`: the root outputs of another configuration's state. */
export interface RemoteStateOptions {
  readonly backends: readonly RemoteStateBackend[];
  /**
   * Whether outputs that their configuration calls sensitive are reported so. Terraform itself forgets it.
   * @default false
   */
  readonly keepSensitive: boolean;
}

interface Found {
  readonly backend: RemoteStateBackend;
  readonly settings: RemoteStateBackendSettings;
}

const CONFIG = Path.root.attribute("config");

export function validateRemoteState(
  { config }: ValidateResourceRequest,
  options: RemoteStateOptions,
): Reply {
  const members = new Map(config.entries());
  const settings = members.get("config");
  const known = settings?.isWhollyKnown === true && members.get("backend")?.isKnown === true;
  const found = known ? findBackend(members, options.backends) : undefined;
  return {
    diagnostics: [
      ...(found !== undefined && "severity" in found ? [found] : []),
      ...(isObject(settings) ? [] : [notAnObject("config")]),
      ...(isObject(members.get("defaults")) ? [] : [notAnObject("defaults")]),
    ],
  };
}

export async function readRemoteState(
  { config }: ReadDataRequest,
  options: RemoteStateOptions,
  { signal, address }: LifecycleContext,
): Promise<ReadDataReply> {
  const members = new Map(config.entries());
  const notObject = ["config", "defaults"].filter((name) => !isObject(members.get(name)));
  if (notObject.length > 0) return { diagnostics: notObject.map(notAnObject) };
  const found = findBackend(members, options.backends);
  if ("severity" in found) return { diagnostics: [found] };
  const workspace = members.get("workspace");
  const name =
    workspace === undefined || workspace.isNull ? DEFAULT_WORKSPACE : workspace.asString();
  const warnings: ProviderDiagnostic[] = [];
  try {
    const file = await found.backend.read(found.settings, name, {
      warn: (detail) => {
        warnings.push({ severity: "warning", summary: "State of another command", detail });
      },
      ...(signal && { signal }),
      ...(address !== undefined && { address }),
    });
    const outputs = file instanceof Uint8Array ? readStateOutputs(file) : file;
    if (outputs === undefined) return { diagnostics: [noState(name)] };
    const values = new Map(defaultsOf(members));
    for (const [output, { value }] of outputs) values.set(output, value);
    members.set("outputs", Value.object(values));
    const sensitive = [...outputs]
      .filter(([, output]) => output.sensitive)
      .map(([output]) => Path.root.attribute("outputs").attribute(output));
    const state = Value.object(members);
    return {
      diagnostics: warnings,
      ...(state.isWhollyKnown ? { state } : { planned: state }),
      ...((options.keepSensitive || found.backend.keepsSensitive) &&
        sensitive.length > 0 && { sensitive }),
    };
  } catch (error) {
    signal?.throwIfAborted();
    const detail = error instanceof Error ? error.message : String(error);
    return { diagnostics: [failure("Unable to read remote state", `${detail}.`)] };
  }
}

/** The backend of a configuration and its settings, or what is wrong with them. */
function findBackend(
  members: ReadonlyMap<string, Value>,
  backends: readonly RemoteStateBackend[],
): Found | ProviderDiagnostic {
  const type = members.get("backend") ?? Value.null(Type.string);
  const config = members.get("config") ?? Value.null(Type.dynamic);
  const name = type.isNull ? "" : type.asString();
  const backend = backends.find((candidate) => candidate.type === name);
  if (backend === undefined) {
    const there = backends.map((candidate) => candidate.type).join(", ");
    return invalid(`There is no backend ${JSON.stringify(name)}, only ${there}.`, "backend");
  }
  if (!isObject(config)) return notAnObject("config");
  const settings = readSettings(backend, config);
  if (typeof settings === "string") {
    return invalid(`The configuration does not fit backend "${name}": ${settings}.`, "config");
  }
  const problem = backend.check(settings);
  return problem === undefined ? { backend, settings } : invalid(`${problem}.`, "config");
}

function defaultsOf(members: ReadonlyMap<string, Value>): Iterable<[string, Value]> {
  const defaults = members.get("defaults");
  return defaults === undefined || defaults.isNull ? [] : [...defaults.entries()];
}

/** Null, of open type, and unknown ones of open type may still become an object. */
function isObject(value: Value | undefined): boolean {
  if (value === undefined) return true;
  const { kind } = value.type;
  return kind === "dynamic" || kind === "object" || kind === "map";
}

function notAnObject(name: string): ProviderDiagnostic {
  const what = name === "config" ? "backend configuration" : "default values";
  return failure(`Invalid ${what}`, `${name} must be an object.`, Path.root.attribute(name));
}

function invalid(detail: string, name: "backend" | "config"): ProviderDiagnostic {
  const path = name === "config" ? CONFIG : Path.root.attribute(name);
  return failure("Invalid backend configuration", detail, path);
}

function noState(workspace: string): ProviderDiagnostic {
  return failure(
    "Unable to find remote state",
    `There is no stored state for workspace ${JSON.stringify(workspace)}.`,
  );
}

function failure(summary: string, detail: string, attribute?: Path): ProviderDiagnostic {
  return { severity: "error", summary, detail, ...(attribute && { attribute }) };
}
