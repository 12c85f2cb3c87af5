import { Value } from "@stackwright/cty";
import {
  hasProviderErrors,
  type LifecycleContext,
  type NotedDecision,
  type ResourceSchema,
} from "@stackwright/mux/router";
import { upgradeObject } from "../planner/read-object.ts";
import type { ProviderInstance } from "../providers/provider-instances.ts";
import { recordValue } from "../state/record-value.ts";
import type { ObjectContent, OperationResult } from "../state/state-change.ts";
import { type ObjectOperation, recoveredBytes, type StateObject } from "../state/state-object.ts";
import { blockType } from "../walk/block-type.ts";
import { recordIdentity, restoreIdentity } from "../walk/identity.ts";
import { markObject, withoutMarks } from "../walk/object-marks.ts";

/**
 * Recovers an operation whose answer was lost.
 *
 * - An update or delete: the object is known, so it is read. The answer is its state; no object means that it is
 *   deleted.
 * - A create or update of a type that notes what it has made: the object is what the provider reads of its notes.
 * - A create of an object that exists in the state alone has left nothing.
 * - A create whose identity follows from the configuration: the object is probed under that identity.
 * - A create whose `id` was planned: that id is tried for an import. An object found under it is the object. An empty
 *   answer proves nothing, as not every provider imports by its `id`: the create stays unresolved.
 * - Any other create: the result is unknown. The outcome is `unresolved` and names what the operator has to search for.
 *
 * Never creates or deletes anything. An object that cannot be read is unresolved as well.
 */
export async function resolveOperation(
  object: StateObject,
  operation: ObjectOperation,
  use: ProviderInstance,
  context: LifecycleContext,
): Promise<OperationResult> {
  return resolveWith(object, operation, use, context, async (resolver) => {
    if (resolver.schema.hasNotes === true && operation.kind !== "delete") {
      return readNoted(object, operation, resolver, { kind: "undecided" });
    }
    return operation.kind === "create"
      ? probeCreate(object, operation, resolver)
      : readAndResolve(object, operation, resolver);
  });
}

/**
 * Reads the object that a create made, under an import id that the user gave; of a type that notes what it has made, the part with
 * that id. Never creates or deletes anything; where nothing is found the outcome stays unresolved.
 */
export async function resolveById(
  object: StateObject,
  operation: ObjectOperation,
  id: string,
  use: ProviderInstance,
  context: LifecycleContext,
): Promise<OperationResult> {
  return resolveWith(object, operation, use, context, async (resolver) =>
    resolver.schema.hasNotes === true
      ? readNoted(object, operation, resolver, { kind: "id", id })
      : findCreated(object, operation, resolver, { id, identity: undefined, given: true }),
  );
}

/**
 * The outcome where the user says that nothing came of an operation: of a type that notes what it has made, what is left of its
 * notes.
 */
export async function resolveAbsent(
  object: StateObject,
  operation: ObjectOperation,
  use: ProviderInstance,
  context: LifecycleContext,
): Promise<OperationResult> {
  if (use.typeSchema(object.mode, object.type)?.hasNotes !== true) return { kind: "absent" };
  return resolveWith(object, operation, use, context, async (resolver) =>
    readNoted(object, operation, resolver, { kind: "absent" }),
  );
}

async function resolveWith(
  { mode, type }: StateObject,
  operation: ObjectOperation,
  use: ProviderInstance,
  context: LifecycleContext,
  find: (resolver: Resolver) => Promise<OperationResult>,
): Promise<OperationResult> {
  const schema = use.typeSchema(mode, type);
  let outcome: OperationResult;
  try {
    outcome =
      schema === undefined
        ? unresolved(operation, `the provider does not have the type ${type}`)
        : await find({ use, schema, context });
  } catch (error) {
    outcome = unresolved(operation, error instanceof Error ? error.message : String(error));
  }
  if (outcome.kind !== "unresolved") return outcome;
  // It is stored and shown, and holds what a provider said.
  return { ...outcome, problem: use.secrets.redact(outcome.problem) };
}

interface Resolver {
  readonly use: ProviderInstance;
  readonly schema: ResourceSchema;
  readonly context: LifecycleContext;
}

function unresolved({ kind, probe }: ObjectOperation, why: string): OperationResult {
  const hint = probe === undefined ? "" : ` ${probe.hint}`;
  return {
    kind: "unresolved",
    problem: `It is not known whether the ${kind} took place: ${why}.${hint}`,
  };
}

/** Reads what an interrupted apply noted. What a create has made halfway is tainted. */
async function readNoted(
  object: StateObject,
  operation: ObjectOperation,
  resolver: Resolver,
  noted: NotedDecision,
): Promise<OperationResult> {
  if (object.value !== undefined) return readAndResolve(object, operation, resolver, noted);
  const { use, schema, context } = resolver;
  const { type } = object;
  const privateBytes = recoveredBytes(object);
  const state = Value.null(blockType(schema.block));
  const reply = await use.provider.read(
    { type, state, privateBytes, deferralAllowed: false, noted },
    context,
  );
  if (reply.state === undefined || hasProviderErrors(reply.diagnostics)) {
    return unresolved(operation, reply.diagnostics.map(({ summary }) => summary).join("; "));
  }
  if (reply.state.isNull) return { kind: "absent" };
  const marks = [...(operation.sensitive ?? []), ...(reply.sensitive ?? [])];
  return {
    kind: "exists",
    tainted: true,
    content: contentOf(markObject(reply.state, schema.block, marks), schema, {
      privateBytes: reply.privateBytes ?? privateBytes,
      identity: reply.identity,
    }),
  };
}

async function readAndResolve(
  object: StateObject,
  operation: ObjectOperation,
  resolver: Resolver,
  noted?: NotedDecision,
): Promise<OperationResult> {
  const { use, schema, context } = resolver;
  const problems: string[] = [];
  const state = await upgradeObject(object, {
    use,
    report: (diagnostics) => problems.push(...diagnostics.map(({ summary }) => summary)),
  });
  if (state === undefined) return unresolved(operation, problems.join("; "));
  const identity = restoreIdentity(object.identity, schema);
  const reply = await use.provider.read(
    {
      type: object.type,
      state: withoutMarks(state),
      privateBytes: noted === undefined ? object.privateBytes : recoveredBytes(object),
      ...(identity !== undefined && { identity }),
      deferralAllowed: false,
      ...(noted !== undefined && { noted }),
    },
    context,
  );
  if (reply.state === undefined || hasProviderErrors(reply.diagnostics)) {
    return unresolved(operation, reply.diagnostics.map(({ summary }) => summary).join("; "));
  }
  if (reply.state.isNull) return { kind: "absent" };
  const marks = [
    ...(object.value?.sensitive ?? []),
    ...(operation.sensitive ?? []),
    ...(reply.sensitive ?? []),
  ];
  return {
    kind: "exists",
    tainted: operation.tainted === true,
    content: contentOf(markObject(reply.state, schema.block, marks), schema, {
      privateBytes: reply.privateBytes ?? object.privateBytes,
      identity: reply.identity ?? identity,
    }),
  };
}

async function probeCreate(
  object: StateObject,
  operation: ObjectOperation,
  resolver: Resolver,
): Promise<OperationResult> {
  const { schema } = resolver;
  const { probe } = operation;
  if (schema.stateOnly === true) return { kind: "absent" };
  const identity = restoreIdentity(probe?.identity, schema);
  if (probe?.importId === undefined && identity === undefined) {
    return unresolved(
      operation,
      "its identity is made by the provider, repeats a secret, or is that of the object that it replaces",
    );
  }
  const wanted = { id: probe?.importId ?? "", identity, given: false };
  return findCreated(object, operation, resolver, wanted);
}

/** The import id or identity by which the object of a create is probed. */
interface Wanted {
  readonly id: string;
  readonly identity: Value | undefined;
  /** The user says that it is this object. */
  readonly given: boolean;
}

async function findCreated(
  object: StateObject,
  operation: ObjectOperation,
  { use, schema, context }: Resolver,
  { id, identity, given }: Wanted,
): Promise<OperationResult> {
  const found = await use.provider.import(
    {
      type: object.type,
      id,
      ...(identity !== undefined && { identity }),
      deferralAllowed: false,
    },
    context,
  );
  if (hasProviderErrors(found.diagnostics)) {
    return unresolved(operation, found.diagnostics.map(({ summary }) => summary).join("; "));
  }
  const imported = found.objects.find(({ type }) => type === object.type);
  const nothing: OperationResult =
    identity === undefined
      ? unresolved(operation, `nothing was found under the id "${id}"`)
      : { kind: "absent" };
  if (imported === undefined || imported.state.isNull) return nothing;
  const reply = await use.provider.read(
    {
      type: object.type,
      state: imported.state,
      privateBytes: imported.privateBytes,
      ...(imported.identity !== undefined && { identity: imported.identity }),
      deferralAllowed: false,
    },
    context,
  );
  if (reply.state === undefined || hasProviderErrors(reply.diagnostics)) {
    return unresolved(operation, reply.diagnostics.map(({ summary }) => summary).join("; "));
  }
  if (reply.state.isNull) return nothing;
  if (!given && identity === undefined && textAt(reply.state, "id") !== id) {
    return unresolved(operation, `what is found under "${id}" has another id`);
  }
  const marks = [...(operation.sensitive ?? []), ...(reply.sensitive ?? [])];
  return {
    kind: "exists",
    tainted: operation.tainted === true,
    content: contentOf(markObject(reply.state, schema.block, marks), schema, {
      privateBytes: reply.privateBytes ?? imported.privateBytes,
      identity: reply.identity ?? imported.identity,
    }),
  };
}

function textAt(object: Value, name: string): string | undefined {
  const value = new Map(object.entries()).get(name);
  return value?.isKnown === true && !value.isNull ? value.asString() : undefined;
}

function contentOf(
  value: Value,
  schema: ResourceSchema,
  {
    privateBytes,
    identity,
  }: { readonly privateBytes: Uint8Array; readonly identity: Value | undefined },
): ObjectContent {
  const recorded = recordIdentity(identity, schema);
  return {
    value: recordValue(value, blockType(schema.block), { schemaVersion: schema.version }),
    privateBytes,
    ...(recorded !== undefined && { identity: recorded }),
  };
}
