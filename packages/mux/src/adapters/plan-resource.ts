import { Path, Value } from "@stackwright/cty";
import { decodeStruct, equalProperties, parsePropertyPath } from "@stackwright/proto/property";
import {
  CheckRequest,
  CreateRequest,
  DiffRequest,
  type DiffResponse,
  DiffResponse_DiffChanges,
  PropertyDiff_Kind,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { LifecycleContext, PlanResourceRequest } from "../router/lifecycle-provider.ts";
import type { Member } from "./package.ts";
import type { MemberShapes } from "./package-types.ts";
import { decodePrivate, encodePrivate } from "./private-inputs.ts";
import { fromProperties, toProperties } from "./property-values.ts";
import {
  callContext,
  EMPTY,
  idOf,
  type PulumiAdapterSession,
  resourceUrn,
  seedOf,
} from "./pulumi-session.ts";
import { failuresToDiagnostics } from "./replies.ts";

/**
 * Plans a create or an update: Check makes the inputs, Diff says whether there is a change and whether it needs a new
 * object, and a preview, where there is one, what will come of it.
 */
export async function planObject(
  session: PulumiAdapterSession,
  { token, shapes }: Member,
  request: PlanResourceRequest,
  context: LifecycleContext,
) {
  const { prior, config, priorPrivate, operation } = request;
  const urn = resourceUrn(token, operation);
  const old = decodePrivate(priorPrivate).inputs;
  const checked = await session.provider.check(
    CheckRequest.create({
      urn,
      olds: prior.isNull ? EMPTY : session.encode(old),
      news: session.encode(toProperties(shapes.inputs, config)),
      randomSeed: seedOf(token, operation),
    }),
    callContext(context),
  );
  if (checked.failures.length > 0) {
    return { diagnostics: failuresToDiagnostics(checked.failures), requiresReplace: [] };
  }
  const news = checked.inputs ?? EMPTY;
  const plannedPrivate = encodePrivate({ inputs: decodeStruct(news), prior: old });
  if (prior.isNull) {
    const preview = await previewCreate(session, urn, news, context);
    return {
      ...plannedObject(shapes, news, preview, () => true),
      requiresReplace: [],
      plannedPrivate,
    };
  }
  const verdict = await diff(session, urn, request, shapes, news, context);
  if (verdict === "same") {
    return { planned: prior, requiresReplace: [], plannedPrivate };
  }
  const { stables, replaces } = verdict;
  const preview =
    replaces.length === 0
      ? await previewUpdate(session, urn, request, shapes, news, context)
      : undefined;
  const before = new Map(prior.entries());
  const planned = plannedObject(
    shapes,
    news,
    preview,
    (name) => replaces.length > 0 || !(name === "id" || stables.has(name)),
    before,
  );
  return { ...planned, requiresReplace: replaces, plannedPrivate };
}

/** The action of a change, from Diff; compared here where the provider does not report it. */
async function diff(
  session: PulumiAdapterSession,
  urn: string,
  { prior, priorPrivate }: PlanResourceRequest,
  shapes: MemberShapes,
  news: EncodedStruct,
  context: LifecycleContext,
) {
  const old = decodePrivate(priorPrivate).inputs;
  const request = DiffRequest.create({
    id: idOf(prior),
    urn,
    olds: session.encode(toProperties(shapes.stored, prior)),
    oldInputs: session.encode(old),
    news,
  });
  const diff = await session.provider.diff(request, callContext(context));
  const isSame =
    diff.changes === DiffResponse_DiffChanges.DIFF_NONE ||
    (diff.changes === DiffResponse_DiffChanges.DIFF_UNKNOWN &&
      diff.replaces.length === 0 &&
      equalProperties(old, decodeStruct(news), { secrets: "ignore" }));
  return isSame ? "same" : { stables: new Set(diff.stables), replaces: replacedPaths(diff) };
}

async function previewCreate(
  session: PulumiAdapterSession,
  urn: string,
  properties: EncodedStruct,
  context: LifecycleContext,
) {
  if (!session.capabilities.supportsPreview) return undefined;
  const request = CreateRequest.create({ urn, properties, preview: true });
  return (await session.provider.create(request, callContext(context))).properties;
}

async function previewUpdate(
  session: PulumiAdapterSession,
  urn: string,
  { prior, priorPrivate }: PlanResourceRequest,
  shapes: MemberShapes,
  news: EncodedStruct,
  context: LifecycleContext,
) {
  if (!session.capabilities.supportsPreview) return undefined;
  const request = UpdateRequest.create({
    id: idOf(prior),
    urn,
    olds: session.encode(toProperties(shapes.stored, prior)),
    oldInputs: session.encode(decodePrivate(priorPrivate).inputs),
    news,
    preview: true,
  });
  return (await session.provider.update(request, callContext(context))).properties;
}

/**
 * The planned object: what a preview says, else the checked inputs; where neither says anything, unknown for what
 * the provider decides anew, and for the rest what was there before.
 */
function plannedObject(
  shapes: MemberShapes,
  inputs: EncodedStruct,
  preview: EncodedStruct | undefined,
  isOpen: (name: string) => boolean,
  before: ReadonlyMap<string, Value> = new Map(),
) {
  const known = new Map([...decodeStruct(inputs), ...decodeStruct(preview ?? EMPTY)]);
  // The id of a preview means nothing, and an empty one nothing either.
  known.delete("id");
  const { value, sensitive } = fromProperties(shapes.all, known, (name, type) => {
    if (!shapes.outputs.has(name)) return Value.null(type);
    return isOpen(name) ? Value.unknown(type) : (before.get(name) ?? Value.null(type));
  });
  return { planned: value, sensitive };
}

const REPLACING: ReadonlySet<PropertyDiff_Kind> = new Set([
  PropertyDiff_Kind.ADD_REPLACE,
  PropertyDiff_Kind.DELETE_REPLACE,
  PropertyDiff_Kind.UPDATE_REPLACE,
]);

/** Attributes whose change needs a new object. Deeper paths are cut: their schema types are not ours to walk. */
function replacedPaths({ replaces, detailedDiff }: DiffResponse): Path[] {
  const names = new Set(replaces.map(firstName));
  for (const [path, { kind }] of detailedDiff) {
    if (REPLACING.has(kind)) names.add(firstName(path));
  }
  return [...names].map((name) => Path.root.attribute(name));
}

function firstName(path: string): string {
  const [first] = parsePropertyPath(path);
  return String(first ?? path);
}
