import { CtyError, decodeJson, type Path, type Value } from "@stackwright/cty";
import {
  hasProviderErrors,
  type ProviderDiagnostic,
  type ResourceSchema,
} from "@stackwright/mux/router";
import { normalizeLegacyObject } from "@stackwright/tfplugin/checks";
import type { ReadPolicy } from "../plan/plan.ts";
import type { ProviderInstance } from "../providers/provider-instances.ts";
import { restoreValue } from "../state/record-value.ts";
import type { RecordedValue, StateObject } from "../state/state-object.ts";
import { blockType } from "../walk/block-type.ts";
import { restoreIdentity } from "../walk/identity.ts";
import { markObject, withoutMarks } from "../walk/object-marks.ts";

/** A recorded object as it is now. */
export interface RefreshedObject {
  readonly recorded: StateObject;
  /** As it was recorded, of the present schema, marked. */
  readonly stored: Value;
  /** As it is; undefined: it is gone. */
  readonly value: Value | undefined;
  readonly privateBytes: Uint8Array;
  readonly identity: Value | undefined;
  readonly sensitive: readonly Path[];
  /** Whether the real object was read. */
  readonly observed: boolean;
  /** Whether it is recorded as an object of another type. */
  readonly converted?: boolean;
}

interface ReadObjectOptions {
  readonly use: ProviderInstance;
  readonly policy: ReadPolicy;
  /** False where the provider cannot be asked, as its configuration is not known yet. */
  readonly reachable: boolean;
  readonly nowMs: number;
  readonly signal?: AbortSignal;
  readonly report: (diagnostics: readonly ProviderDiagnostic[]) => void;
  /** Is called before and after the read, with the object as it is known then. */
  readonly onRead: (phase: "read-start" | "read-end", value: Value | undefined) => void;
}

/** Brings a recorded object to the present schema. Undefined where that fails, which is reported. */
export async function upgradeObject(
  object: StateObject,
  { use, signal, report }: Pick<ReadObjectOptions, "use" | "signal" | "report">,
): Promise<Value | undefined> {
  const { value, type } = object;
  const schema = use.typeSchema(object.mode, type);
  if (value === undefined || schema === undefined) return undefined;
  if (value.schemaVersion > schema.version) {
    report([
      {
        severity: "error",
        summary: "Resource instance managed by newer provider version",
        detail: `${object.address} was last written by a newer version of the provider, which stores version ${value.schemaVersion} of ${type}; this one understands version ${schema.version}. Use the newer version.`,
      },
    ]);
    return undefined;
  }
  // Data sources have no upgrades: what an older schema read is read again.
  if (object.mode === "data") {
    const restored = restoreData(value, schema);
    if (restored !== undefined) use.secrets.addValue(restored);
    return restored;
  }
  const own = ownAnswer(value, schema, use);
  if (own !== undefined) {
    use.secrets.addValue(own);
    return own;
  }
  const stored = { schemaVersion: value.schemaVersion, json: value.json };
  const reply = await use.provider.upgrade({ type, ...stored }, { ...(signal && { signal }) });
  report(reply.diagnostics);
  if (reply.state === undefined || hasProviderErrors(reply.diagnostics)) return undefined;
  const state = markObject(reply.state, schema.block, value.sensitive);
  use.secrets.addValue(state);
  return state;
}

/**
 * What this very program answered before, under the present version of the schema. By the contract of UpgradeResourceState a program gives
 * back what it wrote itself, so that it need not be asked; what it is asked about otherwise are attributes that the schema no
 * longer has, and older versions. Undefined where the program is another one or not known, and where an object could come back
 * in another shape: programs with the legacy type system write blocks as null that they read as empty.
 */
function ownAnswer(
  value: RecordedValue,
  { block, version }: ResourceSchema,
  { digest }: ProviderInstance,
): Value | undefined {
  const isOwn = digest !== undefined && value.writer === digest;
  if (!isOwn || value.schemaVersion !== version || value.omitted !== undefined) return undefined;
  try {
    const plain = decodeJson(value.json, blockType(block));
    if (block.blocks.size > 0 && !normalizeLegacyObject(block, plain).rawEquals(plain)) {
      return undefined;
    }
    return markObject(plain, block, value.sensitive);
  } catch (error) {
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}

function restoreData(value: RecordedValue, { block, version }: ResourceSchema): Value | undefined {
  if (value.schemaVersion !== version) return undefined;
  try {
    return markObject(restoreValue(value, blockType(block)), block);
  } catch (error) {
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}

/** Upgrades an object and reads the real one, as far as the policy requires it. Undefined after an error. */
export async function readObject(
  object: StateObject,
  options: ReadObjectOptions,
): Promise<RefreshedObject | undefined> {
  const stored = await upgradeObject(object, options);
  const schema = options.use.typeSchema(object.mode, object.type);
  if (stored === undefined || schema === undefined) return undefined;
  const sensitive = object.value?.sensitive ?? [];
  const identity = restoreIdentity(object.identity, schema);
  const seen = { recorded: object, stored, sensitive, identity, privateBytes: object.privateBytes };
  if (!options.reachable || !isDue(object, options)) {
    return { ...seen, value: stored, observed: false };
  }
  options.onRead("read-start", stored);
  const { signal } = options;
  const reply = await options.use.provider.read(
    {
      type: object.type,
      state: withoutMarks(stored),
      privateBytes: object.privateBytes,
      ...(identity !== undefined && { identity }),
      deferralAllowed: false,
    },
    { address: object.address, ...(signal && { signal }) },
  );
  options.onRead("read-end", stored);
  options.report(reply.diagnostics);
  if (hasProviderErrors(reply.diagnostics) || reply.state === undefined) return undefined;
  const paths = [...sensitive, ...(reply.sensitive ?? [])];
  const value = reply.state.isNull ? undefined : markObject(reply.state, schema.block, paths);
  if (value !== undefined) options.use.secrets.addValue(value);
  return {
    ...seen,
    value,
    privateBytes: reply.privateBytes ?? object.privateBytes,
    identity: reply.identity ?? identity,
    sensitive: paths,
    observed: true,
  };
}

function isDue({ observedAtMs }: StateObject, { policy, nowMs }: ReadObjectOptions): boolean {
  if (policy.kind === "never") return false;
  return policy.kind === "always" || nowMs - observedAtMs >= policy.ageMs;
}

/** Whether reading found something else than what was recorded. */
export function hasDrifted({ stored, value }: RefreshedObject): boolean {
  return value === undefined || !withoutMarks(value).rawEquals(withoutMarks(stored));
}
