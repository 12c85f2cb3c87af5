import { createHash } from "node:crypto";
import { detailType, RpcError } from "@stackwright/proto/grpc";
import {
  decodeStruct,
  encodeStruct,
  equalProperties,
  isSecret,
  type PropertyMap,
  restoreSecrets,
  secretProperty,
} from "@stackwright/proto/property";
import {
  CheckRequest,
  CreateRequest,
  DeleteRequest,
  DiffRequest,
  DiffResponse_DiffChanges,
  ErrorResourceInitFailed,
  PropertyDiff_Kind,
  ReadRequest,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { toRpcError } from "../broadcast.ts";
import type { ComponentChild } from "./component-child.ts";
import type { ComponentCall } from "./component-peer.ts";
import { nameOfUrn } from "./component-urn.ts";

const INIT_FAILED = detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed);
const EMPTY = encodeStruct(new Map());

/** What a component wants to be there. */
export interface WantedChild {
  readonly urn: string;
  readonly type: string;
  readonly inputs: PropertyMap;
  readonly ignoreChanges: readonly string[];
  readonly secretOutputs: readonly string[];
  readonly retained: boolean;
  readonly isProtected: boolean;
}

/** What a child has to become. */
export type ChildAction = "create" | "same" | "update" | "replace" | "delete-then-create";

/** Inputs as Check returned them, and what they mean for what is there. */
interface ChildDecision {
  readonly inputs: PropertyMap;
  readonly action: ChildAction;
}

/** Check, then Diff with what is there. */
export async function decideChild(
  { peer, context, seed }: ComponentCall,
  wanted: WantedChild,
  old: ComponentChild | undefined,
  deletesFirst: boolean | undefined,
): Promise<ChildDecision> {
  const { urn, type, ignoreChanges } = wanted;
  const given = new Map(wanted.inputs);
  for (const name of old === undefined ? [] : ignoreChanges) {
    const before = old?.inputs.get(name);
    if (before === undefined) given.delete(name);
    else given.set(name, before);
  }
  const checked = await peer.provider.check(
    CheckRequest.create({
      urn,
      type,
      name: nameOfUrn(urn),
      olds: old === undefined ? EMPTY : peer.encode(old.inputs),
      news: peer.encode(given),
      randomSeed: createHash("sha256")
        .update(`${seed} ${urn} ${old?.id ?? ""}`)
        .digest(),
    }),
    context,
  );
  if (checked.failures.length > 0) {
    const reasons = checked.failures.map(({ property, reason }) => `${property}: ${reason}`);
    throw new RpcError("INVALID_ARGUMENT", `${urn}: ${reasons.join("; ")}`);
  }
  const news = decodeStruct(checked.inputs ?? EMPTY);
  const inputs = peer.capabilities.acceptSecrets ? news : restoreSecrets(news, given);
  if (old === undefined) return { inputs, action: "create" };
  const diff = await peer.provider.diff(
    DiffRequest.create({
      id: old.id,
      urn,
      olds: peer.encode(old.outputs),
      oldInputs: peer.encode(old.inputs),
      news: peer.encode(inputs),
      ignoreChanges: [...ignoreChanges],
    }),
    context,
  );
  const replaces =
    diff.replaces.length > 0 ||
    [...diff.detailedDiff.values()].some(({ kind }) => REPLACING.has(kind));
  if (replaces) {
    return {
      inputs,
      action: (deletesFirst ?? diff.deleteBeforeReplace) ? "delete-then-create" : "replace",
    };
  }
  const isSame =
    diff.changes === DiffResponse_DiffChanges.DIFF_NONE ||
    (diff.changes === DiffResponse_DiffChanges.DIFF_UNKNOWN &&
      equalProperties(old.inputs, inputs, { secrets: "ignore" }));
  return { inputs, action: isSame ? "same" : "update" };
}

const REPLACING: ReadonlySet<PropertyDiff_Kind> = new Set([
  PropertyDiff_Kind.ADD_REPLACE,
  PropertyDiff_Kind.DELETE_REPLACE,
  PropertyDiff_Kind.UPDATE_REPLACE,
]);

/** A child that was made or changed; with `failure` where it is there but not well. */
interface ChangedChild {
  readonly child: ComponentChild;
  readonly failure?: RpcError;
}

/** A child whose create is about to be called. */
export function openChild({ urn, type, retained, isProtected }: WantedChild, inputs: PropertyMap) {
  const flags = { retained, isProtected, isReplaced: false, isOpen: true };
  return { urn, type, id: "", inputs, outputs: new Map(), ...flags } satisfies ComponentChild;
}

/** Creates a child. In a preview nothing is made, and it has no id. */
export async function createChild(
  call: ComponentCall,
  wanted: WantedChild,
  inputs: PropertyMap,
): Promise<ChangedChild> {
  const { peer, context, dryRun } = call;
  if (dryRun && !peer.capabilities.supportsPreview) {
    return { child: madeChild(call, wanted, inputs, "", encodeStruct(inputs)) };
  }
  const request = { urn: wanted.urn, properties: peer.encode(inputs), preview: dryRun };
  try {
    const { id, properties } = await peer.provider.create(CreateRequest.create(request), context);
    return { child: madeChild(call, wanted, inputs, dryRun ? "" : id, properties) };
  } catch (error) {
    return halfMade(call, wanted, inputs, error);
  }
}

export async function updateChild(
  call: ComponentCall,
  wanted: WantedChild,
  inputs: PropertyMap,
  old: ComponentChild,
): Promise<ChangedChild> {
  const { peer, context, dryRun } = call;
  if (dryRun && !peer.capabilities.supportsPreview) {
    return { child: madeChild(call, wanted, inputs, old.id, encodeStruct(inputs)) };
  }
  const request = {
    id: old.id,
    urn: wanted.urn,
    olds: peer.encode(old.outputs),
    oldInputs: peer.encode(old.inputs),
    news: peer.encode(inputs),
    ignoreChanges: [...wanted.ignoreChanges],
    preview: dryRun,
  };
  try {
    const { properties } = await peer.provider.update(UpdateRequest.create(request), context);
    return { child: madeChild(call, wanted, inputs, old.id, properties) };
  } catch (error) {
    return halfMade(call, wanted, inputs, error);
  }
}

export async function deleteChild(
  { peer, context }: ComponentCall,
  { urn, id, inputs, outputs, isProtected }: ComponentChild,
): Promise<void> {
  if (isProtected) {
    throw new RpcError("FAILED_PRECONDITION", `${urn} is protected by its component`);
  }
  await peer.provider.delete(
    DeleteRequest.create({
      id,
      urn,
      properties: peer.encode(outputs),
      oldInputs: peer.encode(inputs),
    }),
    context,
  );
}

/** The child as it is at present; `undefined` where it is gone. */
export async function readChild(
  { peer, context }: ComponentCall,
  child: ComponentChild,
): Promise<ComponentChild | undefined> {
  const { urn, id, inputs, outputs } = child;
  const found = await peer.provider.read(
    ReadRequest.create({ id, urn, properties: peer.encode(outputs), inputs: peer.encode(inputs) }),
    context,
  );
  if (found.id === "") return undefined;
  const secrets = new Map([...outputs, ...inputs]);
  const restored = (properties: EncodedStruct): PropertyMap =>
    peer.capabilities.acceptSecrets
      ? decodeStruct(properties)
      : restoreSecrets(decodeStruct(properties), secrets);
  return {
    ...child,
    id: found.id,
    outputs: restored(found.properties ?? EMPTY),
    ...(found.inputs !== undefined && { inputs: restored(found.inputs) }),
  };
}

function madeChild(
  { peer }: ComponentCall,
  { urn, type, secretOutputs, retained, isProtected }: WantedChild,
  inputs: PropertyMap,
  id: string,
  properties: EncodedStruct | undefined,
): ComponentChild {
  let outputs = decodeStruct(properties ?? EMPTY);
  if (!peer.capabilities.acceptSecrets) outputs = restoreSecrets(outputs, inputs);
  const marked = new Map(outputs);
  for (const name of secretOutputs) {
    const value = marked.get(name);
    if (value !== undefined && !isSecret(value)) marked.set(name, secretProperty(value));
  }
  return {
    urn,
    type,
    id,
    inputs,
    outputs: marked,
    retained,
    isProtected,
    isReplaced: false,
    isOpen: false,
  };
}

/** What the error of a change says that is there all the same; other errors pass. */
function halfMade(
  call: ComponentCall,
  wanted: WantedChild,
  inputs: PropertyMap,
  error: unknown,
): ChangedChild {
  const failure = toRpcError(error);
  const [half] = failure.findDetails(INIT_FAILED);
  if (half === undefined) throw failure;
  return { child: madeChild(call, wanted, inputs, half.id, half.properties), failure };
}
