import { Type, Value } from "@stackwright/cty";
import type { RpcError } from "@stackwright/proto/grpc";
import {
  containsUnknown,
  decodeStruct,
  mapProperty,
  type PropertyMap,
  type PropertyValue,
  stringProperty,
  unknownProperty,
} from "@stackwright/proto/property";
import { ConstructRequest } from "@stackwright/proto/pulumirpc";
import { toRpcError } from "../broadcast.ts";
import type { NoteChildren } from "../components/child-journal.ts";
import { readChild } from "../components/child-steps.ts";
import {
  type ComponentChild,
  decodeComponent,
  encodeComponent,
  encodeNote,
} from "../components/component-child.ts";
import type { ComponentCall } from "../components/component-peer.ts";
import { type ChildFailure, ComponentRun } from "../components/component-run.ts";
import { childKey, childUrn, nameOfUrn } from "../components/component-urn.ts";
import { decideOpenChildren } from "../components/decide-open-children.ts";
import { runOf, startResourceMonitor } from "../components/resource-monitor.ts";
import { isStateUnknown } from "../is-state-unknown.ts";
import type { ProviderDiagnostic } from "../router/diagnostic.ts";
import type {
  ApplyReply,
  ApplyResourceRequest,
  LifecycleContext,
  LifecycleProvider,
  OperationIdentity,
  PlanResourceRequest,
} from "../router/lifecycle-provider.ts";
import { ProviderFailure } from "../router/provider-failure.ts";
import { componentName } from "./component-name.ts";
import type { Member } from "./package.ts";
import { type ConvertedObject, fromProperties, toProperties } from "./property-values.ts";
import { callContext, EMPTY, type PulumiAdapterSession, resourceUrn } from "./pulumi-session.ts";
import { rpcDiagnostic } from "./replies.ts";

/** The attributes of a component that are not its program's: its URN, and the ids of what it made. */
export interface ComponentAttributes {
  readonly urn: string;
  readonly children: string;
}

/** A member that is a component. */
export type ComponentMember = Member & { readonly component: ComponentAttributes };

interface Constructed {
  readonly run: ComponentRun;
  readonly state: PropertyMap;
  readonly failure?: RpcError;
}

/**
 * Plans a component: its program says in a preview what it would make. Some programs take their inputs as plain values and fail
 * where one is not known yet, which nothing declares: then nothing is known of what they give, and the failure is a warning. One that
 * has another reason comes back at the apply.
 */
export async function planComponent(
  session: PulumiAdapterSession,
  member: ComponentMember,
  { prior, config, priorPrivate, operation }: PlanResourceRequest,
  context: LifecycleContext,
) {
  const { token, shapes, component } = member;
  const { children } = decodeComponent(priorPrivate);
  const urn = prior.isNull ? newUrn(token, context, operation) : urnOf(prior, component);
  const inputs = toProperties(shapes.inputs, config);
  const plannedPrivate = encodeComponent({ inputs, children });
  const call = callOf(session, context, operation, true);
  const { run, state, failure } = await construct(call, token, urn, inputs, children);
  if (failure !== undefined) {
    if (![...inputs.values()].some((input) => containsUnknown(input))) throw failure;
    const { value, sensitive } = unknownObject(member, urn, inputs);
    const diagnostics = [
      { ...rpcDiagnostic(failure), severity: "warning", summary: NO_PREVIEW },
    ] as const;
    return { planned: value, sensitive, requiresReplace: [], plannedPrivate, diagnostics };
  }
  const isSame = [...run.actions.values()].every((action) => action === "same");
  const planned = objectOf(
    member,
    urn,
    inputs,
    state,
    run.children,
    isSame && !prior.isNull ? undefined : run.actions,
  );
  return {
    planned: planned.value,
    sensitive: planned.sensitive,
    requiresReplace: [],
    plannedPrivate,
  };
}

/** Makes, changes or deletes a component with all that belongs to it. */
export async function applyComponent(
  session: PulumiAdapterSession,
  member: ComponentMember,
  request: ApplyResourceRequest,
  context: LifecycleContext,
): Promise<ApplyReply> {
  const { prior, planned, operation } = request;
  const { token, component } = member;
  const { inputs, children } = decodeComponent(request.plannedPrivate);
  const call = callOf(session, context, operation, false);
  if (planned.isNull) return deleteComponent(call, request, children);
  const urn = prior.isNull ? newUrn(token, context, operation) : urnOf(prior, component);
  const note = context.note && noteWith(context.note, { urn, inputs });
  const { run, state, failure } = await construct(call, token, urn, inputs, children, note);
  const privateBytes = encodeComponent({ inputs, children: run.children });
  const diagnostics = run.failures.map((one) => childDiagnostic(urn, one));
  // A program that fails because of its children says nothing new.
  if (failure !== undefined && diagnostics.length === 0) diagnostics.push(rpcDiagnostic(failure));
  if (run.isOpen && note !== undefined) {
    // As after an interruption: the user decides about the children that may be there. Nothing is made twice meanwhile.
    await run.recorded();
    return { diagnostics, state: prior, privateBytes, legacyTypeSystem: true, isOpen: true };
  }
  if (prior.isNull && failure !== undefined && run.children.length === 0) {
    // The program itself makes nothing: what its children failed with says whether anything was made.
    const open = run.failures.find(({ error }) => isStateUnknown(error, true));
    if (open !== undefined) throw open.error;
    return { diagnostics, state: prior, privateBytes, legacyTypeSystem: true };
  }
  const { value, sensitive } = objectOf(member, urn, inputs, state, run.children);
  if (failure !== undefined && !prior.isNull) {
    // What its program would have returned is not known; it stays what it was, with the children that it has.
    const kept = new Map(prior.entries());
    const present = new Map(value.entries()).get(component.children);
    if (present !== undefined) kept.set(component.children, present);
    return { diagnostics, state: Value.object([...kept]), privateBytes, legacyTypeSystem: true };
  }
  return { diagnostics, state: value, sensitive, privateBytes, legacyTypeSystem: true };
}

/** Notes of one apply. The first says what the component is. */
function noteWith(
  note: (privateBytes: Uint8Array) => Promise<void>,
  record: Parameters<typeof encodeNote>[1],
): NoteChildren {
  let isBegun = false;
  return async (changes) => {
    await note(encodeNote(changes, isBegun ? undefined : record));
    isBegun = true;
  };
}

/**
 * Reads what belongs to a component; what is gone is not among its children any more. After an interrupted apply these are the
 * noted ones, and nothing at all where a create has made none.
 */
export async function readComponent(
  session: PulumiAdapterSession,
  member: ComponentMember,
  { state, privateBytes, noted }: Parameters<LifecycleProvider["read"]>[0],
  context: LifecycleContext,
) {
  const { component } = member;
  const record = decodeComponent(privateBytes);
  const { inputs } = record;
  const urn = record.urn ?? urnOf(state, component);
  const children =
    noted === undefined ? record.children : decideOpenChildren(urn, record.children, noted);
  const call = callOf(session, context, undefined, false);
  const found: ComponentChild[] = [];
  const open = new Set(record.children.flatMap((child) => (child.isOpen ? child.urn : [])));
  for (const child of children) {
    const present = await readChild(call, child);
    if (present !== undefined) found.push(present);
    else if (open.has(child.urn) && !child.isReplaced && noted?.kind === "id") {
      // The user says that it exists: the id is a wrong one, and no proof that it does not.
      const name = childKey(urn, child.urn);
      throw new ProviderFailure(`nothing was found under the id "${child.id}" of ${name}`);
    }
  }
  if (state.isNull && found.length === 0) return { state };
  const kept = encodeComponent({ inputs, children: found });
  if (state.isNull) {
    const { value, sensitive } = objectOf(member, urn, inputs, new Map(), found);
    return { state: value, sensitive, privateBytes: kept };
  }
  const ids = found
    .filter(({ isReplaced }) => !isReplaced)
    .map((child) => [childKey(urn, child.urn), Value.string(child.id)] as const);
  const members = new Map(state.entries()).set(component.children, Value.map(ids, Type.string));
  return { state: Value.object([...members]), privateBytes: kept };
}

function callOf(
  peer: PulumiAdapterSession,
  context: LifecycleContext,
  operation: OperationIdentity | undefined,
  dryRun: boolean,
): ComponentCall {
  const seed = operation?.operationId ?? "";
  return { peer, context: callContext(context), dryRun, seed };
}

/** The URN of a component that is to be made, which it keeps: its program names what it makes after it. */
function newUrn(
  token: string,
  { address }: LifecycleContext,
  operation: OperationIdentity | undefined,
): string {
  return address === undefined
    ? resourceUrn(token, operation)
    : childUrn("", token, componentName(token, address));
}

async function construct(
  call: ComponentCall,
  token: string,
  urn: string,
  inputs: PropertyMap,
  before: readonly ComponentChild[],
  note?: NoteChildren,
): Promise<Constructed> {
  const run = new ComponentRun(call, before, note);
  const { peer, context } = call;
  let state: PropertyMap = new Map();
  try {
    await using monitor = await startResourceMonitor(call, run);
    const reply = await peer.provider.construct(
      ConstructRequest.create({
        ...runOf(call, monitor.address),
        type: token,
        name: nameOfUrn(urn),
        inputs: peer.encode(inputs),
      }),
      context,
    );
    state = decodeStruct(reply.state ?? EMPTY);
    await run.settled();
    if (run.failures.length === 0) await run.removeRest();
    return { run, state };
  } catch (error) {
    // A program that fails does not wait for what it has begun.
    await run.settled();
    return { run, state, failure: toRpcError(error) };
  }
}

/** What a child failed with, and by its name in the component which one it is. */
function childDiagnostic(component: string, { urn, error }: ChildFailure): ProviderDiagnostic {
  const { detail, ...rest } = rpcDiagnostic(error);
  const open = isStateUnknown(error, true)
    ? "\n\nWhether it was made or changed is not known: look for it."
    : "";
  return { ...rest, detail: `${childKey(component, urn)}: ${detail}${open}` };
}

async function deleteComponent(
  call: ComponentCall,
  { prior, planned, plannedPrivate }: ApplyResourceRequest,
  children: readonly ComponentChild[],
): Promise<ApplyReply> {
  const run = new ComponentRun(call, children);
  const diagnostics: ProviderDiagnostic[] = [];
  try {
    await run.removeRest();
  } catch (error) {
    diagnostics.push(rpcDiagnostic(toRpcError(error)));
  }
  const { inputs } = decodeComponent(plannedPrivate);
  const isGone = diagnostics.length === 0;
  return {
    diagnostics,
    state: isGone ? planned : prior,
    privateBytes: encodeComponent({ inputs, children: run.children }),
    legacyTypeSystem: true,
  };
}

const NO_PREVIEW = "Component cannot be previewed with values that are not known yet";

/** The object of a component whose program gave none: of what it gives nothing is known. */
function unknownObject(
  { shapes, component }: ComponentMember,
  urn: string,
  inputs: PropertyMap,
): ConvertedObject {
  const known = new Map(inputs).set(component.urn, stringProperty(urn));
  return fromProperties(shapes.all, known, (name, type) =>
    shapes.outputs.has(name) ? Value.unknown(type) : Value.null(type),
  );
}

/**
 * The object of a component: what its program returned, its URN, and the ids of its children; with the `open` actions of a preview
 * those that follow from it are not known.
 */
function objectOf(
  { shapes, component }: ComponentMember,
  urn: string,
  inputs: PropertyMap,
  state: PropertyMap,
  children: readonly ComponentChild[],
  open?: ComponentRun["actions"],
): ConvertedObject {
  const ids = children
    .filter(({ isReplaced }) => !isReplaced)
    .map((child): [string, PropertyValue] => {
      const settled = open === undefined || (open.get(child.urn) === "same" && child.id !== "");
      return [
        childKey(urn, child.urn),
        settled ? stringProperty(child.id) : unknownProperty("string"),
      ];
    });
  const known = new Map([...inputs, ...state])
    .set(component.urn, stringProperty(urn))
    .set(component.children, mapProperty(ids));
  return fromProperties(shapes.all, known, (name, type) =>
    open !== undefined && shapes.outputs.has(name) ? Value.unknown(type) : Value.null(type),
  );
}

function urnOf(object: Value, { urn }: ComponentAttributes): string {
  const value = new Map(object.entries()).get(urn);
  return value === undefined || value.isNull || !value.isKnown ? "" : value.asString();
}
