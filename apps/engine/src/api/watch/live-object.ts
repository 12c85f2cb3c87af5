import type { Collection, Inspector } from "@stackwright/krt";
import { type Static, Type } from "typebox";
import type { LiveView } from "../../live/live-view.ts";
import { questionOf } from "./question-of.ts";

const ObjectRef = Type.Object(
  { collection: Type.String(), key: Type.String() },
  { title: "LiveObjectRef" },
);

/** What the live view knows of one object, without its values. */
export const LiveObject = Type.Object(
  {
    collection: Type.String(),
    key: Type.String(),
    present: Type.Boolean({ description: "there is an object with this key" }),
    derived_from: Type.Optional(
      Type.Object({
        key: Type.String({ description: "of the input; empty where it is of another account" }),
        turn: Type.Optional(Type.Integer({ description: "in which it was last derived" })),
        cause: Type.Optional(ObjectRef),
        waits_for: Type.Optional(
          Type.String({ description: "the collection that has to come into sync before" }),
        ),
        failure: Type.Optional(Type.String({ description: "code of the error of the last run" })),
        dependencies: Type.Array(
          Type.Object({
            collection: Type.String(),
            filters: Type.String({ description: "what is fetched by, without values" }),
            matches: Type.Integer({ description: "objects that are found now" }),
          }),
        ),
      }),
    ),
    dependants: Type.Array(ObjectRef, {
      description:
        "inputs that are derived again when the object changes; without an object, those that wait for its key",
    }),
    events: Type.Array(
      Type.Object({
        type: Type.Union([Type.Literal("add"), Type.Literal("update"), Type.Literal("delete")]),
        turn: Type.Integer({ description: "the last one when the change was noted" }),
        at: Type.String(),
      }),
      { description: "the last changes of the object, the newest first; none of resources" },
    ),
  },
  { title: "LiveObject" },
);

/** At most so many dependants are listed. */
const MAX_DEPENDANTS = 1_000;

/** Undefined where nothing is known of the key. Objects of other accounts are not named. */
export function describeObject(
  { inspector, events }: Pick<LiveView, "inspector" | "events">,
  collection: Collection<unknown>,
  key: string,
  account: string,
): Static<typeof LiveObject> | undefined {
  const { name } = collection;
  const present = collection.has(key);
  const derivedFrom = derivation(inspector, collection, key, account);
  const dependants = [
    ...takingIn(inspector, name, key),
    ...inspector.dependants(collection, key).map((one) => ({
      collection: one.collection,
      key: one.input,
    })),
  ].filter((one) => isOf(account, one.key));
  const logged = events.eventsOf(name, key);
  const isKnown =
    present || derivedFrom !== undefined || dependants.length > 0 || logged.length > 0;
  if (!isKnown) return undefined;
  return {
    collection: name,
    key,
    present,
    ...(derivedFrom !== undefined && { derived_from: derivedFrom }),
    dependants: dependants.slice(0, MAX_DEPENDANTS),
    events: logged.map(({ type, turn, atMs }) => ({
      type,
      turn,
      at: new Date(atMs).toISOString(),
    })),
  };
}

/** Of what input the object is derived; or the input of this key itself, where it yields nothing. */
function derivation(
  inspector: Inspector,
  collection: Collection<unknown>,
  key: string,
  account: string,
): Static<typeof LiveObject>["derived_from"] {
  const explained = inspector.explainOutput(collection, key) ?? inspector.explain(collection, key);
  if (explained === undefined) return undefined;
  const { input, cause, waitsFor, failure, dependencies } = explained;
  const shown = (of: string): string => (isOf(account, of) ? of : "");
  return {
    key: shown(input),
    ...(cause !== undefined && { turn: cause.turn }),
    ...(cause?.collection !== undefined &&
      cause.key !== undefined && {
        cause: { collection: cause.collection, key: shown(cause.key) },
      }),
    ...(waitsFor !== undefined && { waits_for: waitsFor }),
    ...(failure !== undefined && { failure: failure.code }),
    dependencies: dependencies.map((one) => ({ ...one, filters: questionOf(one.filters) })),
  };
}

/** The derivations that have the object as an input, and not by a fetch. */
function takingIn(
  inspector: Inspector,
  name: string,
  key: string,
): readonly Static<typeof ObjectRef>[] {
  return inspector
    .edges()
    .filter(({ from, type }) => type === "input" && from === name)
    .map(({ to }) => inspector.named(to))
    .filter((reader) => reader !== undefined)
    .filter((reader) => inspector.explain(reader, key) !== undefined)
    .map((reader) => ({ collection: reader.name, key }));
}

/** Keys begin with their account, those of reactions with one word before it. */
export function isOf(account: string, key: string): boolean {
  return key.replace(/^(?:outputs|time|drift) /, "").startsWith(`${account}/`);
}
