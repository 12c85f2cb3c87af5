import {
  createStackStates,
  delegatedKeys,
  type NamedStack,
  outputValue,
  recordedValue,
  type StackOutput,
  type StackSnapshot,
  type StateObject,
} from "@stackwright/core";
import { CtyError, type Value } from "@stackwright/cty";
import { type ObjectView, revisionView, type Shown, showValue } from "@stackwright/plan-view";
import { BUILTIN_ADDRESS, BUILTIN_SCHEMA } from "@stackwright/tfplugin/builtin";
import { ServerError } from "../../domain/server-error.ts";
import type { ApiParts } from "../api-parts.ts";

/** Texts of attributes are shown up to this length; what is encrypted was not read. */
const SHOW = { maxTextLength: 16_384, withoutSecrets: true } as const;
/** Revisions of one comparison. */
const MAX_REVISIONS = 200;

type StateParts = Pick<ApiParts, "storage" | "blobs" | "clock">;

/**
 * The state of a stack without its data keys: what is encrypted stays so, and is shown as sensitive. Nothing that reads it can show a
 * secret by mistake.
 */
function keylessState({ storage, blobs, clock }: StateParts, { reference }: NamedStack) {
  return createStackStates({
    storage,
    blobs,
    ciphers: delegatedKeys(() => []),
    onMissingKey: () => undefined,
    // Reading needs no lease, so that nothing is written with this name.
    owner: "shown-state",
    scheduler: clock,
  }).stack(reference);
}

/** What is recorded of a stack. */
export async function readShownState(parts: StateParts, stack: NamedStack): Promise<StackSnapshot> {
  return keylessState(parts, stack).read();
}

/** One recorded object, without the others. */
export async function readShownObject(
  parts: StateParts,
  stack: NamedStack,
  key: { readonly address: string; readonly deposed: string },
): Promise<StateObject | undefined> {
  return keylessState(parts, stack).object(key);
}

/** The attributes of an object; undefined where nothing is recorded, `unprocessable` for what is no value of the engine. */
export function shownObject(object: StateObject): Shown | undefined {
  const value = valueOf(object);
  return value === undefined ? undefined : showValue(value, SHOW);
}

/** The value of an output; `unprocessable` for one that is no value of the engine. */
export function shownOutput(name: string, output: StackOutput): Shown {
  if (output.sensitive || output.isOmitted === true) return { kind: "secret" };
  const value = readable(`the output "${name}"`, () => outputValue(output));
  return showValue(value, SHOW);
}

/** The revisions of a stack, newest first. */
export async function listRevisions(parts: StateParts, stack: NamedStack, limit: number) {
  return keylessState(parts, stack).history({ limit });
}

/**
 * What the revisions behind `from` up to `to` did to each object together, by address. `not_found` for a revision that is not
 * stored, `unprocessable` for too many.
 */
export async function compareRevisions(
  parts: StateParts,
  stack: NamedStack,
  { from, to }: { readonly from: bigint; readonly to: bigint },
): Promise<readonly ObjectView[]> {
  const state = keylessState(parts, stack);
  const history = await state.history();
  const between = history.filter(({ revision }) => revision > from && revision <= to).toReversed();
  for (const wanted of [from, to]) {
    // 0 is the state before the first one.
    const isKnown = wanted === 0n || history.some(({ revision }) => revision === wanted);
    if (!isKnown) throw new ServerError("not_found", `the stack has no revision ${wanted}`);
  }
  if (between.length > MAX_REVISIONS) {
    throw new ServerError(
      "unprocessable",
      `${between.length} revisions lie between ${from} and ${to}; compare at most ${MAX_REVISIONS}`,
    );
  }
  const objects = new Map<
    string,
    { before?: StateObject; after?: StateObject; any: StateObject }
  >();
  for (const { revision } of between) {
    const changes = await state.changes(revision);
    if (changes === undefined) {
      throw new ServerError("not_found", `the revision ${revision} has no record of its changes`);
    }
    for (const { address, deposed, before, after } of changes) {
      const any = after ?? before;
      if (any === undefined) continue;
      const key = `${address}\0${deposed}`;
      const first = objects.get(key);
      const was = first === undefined ? before : first.before;
      objects.set(key, {
        any,
        ...(was !== undefined && { before: was }),
        ...(after !== undefined && { after }),
      });
    }
  }
  const given = [...objects.values()].map(({ before, after, any }) => ({
    address: any.address,
    deposed: any.deposed,
    type: any.type,
    before: valueOf(before),
    after: valueOf(after),
  }));
  return revisionView(given, SHOW);
}

function valueOf(object: StateObject | undefined): Value | undefined {
  const { value, address } = object ?? {};
  if (object === undefined || value === undefined) return undefined;
  return readable(`"${address}"`, () => recordedValue(value, blockOf(object)));
}

/** What is read of a state that another program wrote: it may have numbers that the engine has not. */
function readable<T>(of: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    const detail = `the state has a value of ${of} that cannot be shown: ${error.message}`;
    throw new ServerError("unprocessable", detail, { cause: error });
  }
}

/** The schema of an object of a provider that is a part of the server; those of others are with them. */
function blockOf({ provider, mode, type }: StateObject) {
  if (provider.source !== BUILTIN_ADDRESS) return undefined;
  const { resources, dataSources } = BUILTIN_SCHEMA;
  return (mode === "data" ? dataSources : resources).get(type)?.block;
}
