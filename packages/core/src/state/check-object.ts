import type { ObjectIndex } from "./object-index.ts";
import type { Edit } from "./reduce-change.ts";
import type { StateObject } from "./state-object.ts";

// Rules of one step, checked before it is written:
//
//   shape      the members fit the phase (see ObjectPhase); the deposed key is well-formed; there is a JSON object
//   existence  a new instance dependency names a current object that exists, and a created object only such that are
//              finished: nothing is made from something whose making is under way
//   removal    nothing is deleted or given up while a current object depends on it, unless a new object takes its
//              place; so the order of deletes is checked by the state itself
//   uniqueness (address, deposed key) is unique by the name of the resource, and there is one current object
//
// The rules of the whole state are in check-state.ts.

/** What is wrong with a step; empty when it may be written. */
export function checkEdits(edits: readonly Edit[], index: ObjectIndex): string[] {
  // The two keys of a depose or restore change together, so neither of them is a removal.
  const removal = edits.length === 1;
  // An object that changes its key takes along what it depends on, in whatever phase that is.
  const moved = edits.find(({ after }) => after === undefined)?.before;
  return edits.flatMap(({ before, after }) => [
    ...(after === undefined ? [] : checkShape(after)),
    ...(after === undefined ? [] : checkNewDependencies(moved ?? before, after, index)),
    ...(removal && before !== undefined ? checkRemoval(before, after, index) : []),
  ]);
}

/** What is wrong with an object by itself. */
export function checkShape(object: StateObject): string[] {
  const problems: string[] = [];
  const say = (what: string): void => {
    problems.push(`${object.address}${object.deposed && ` (deposed ${object.deposed})`} ${what}`);
  };
  const { phase, operation, value, deposed } = object;
  const settled = phase === "ready" || phase === "tainted";
  if (object.address === "" || object.type === "") say("has no address or no type");
  if (!/^([0-9a-f]{8})?$/.test(deposed)) say("has a malformed deposed key");
  if (settled !== (operation === undefined))
    say(`is ${phase} and has ${operation?.kind ?? "no operation"}`);
  const bare = phase === "creating" || (phase === "unresolved" && operation?.kind === "create");
  if (bare && value !== undefined) say("has content before it was created");
  if (!bare && value === undefined) say("has no content");
  if (deposed !== "" && phase === "creating") say("is being created, but deposed");
  if (phase === "unresolved" && operation?.problem === undefined)
    say("does not say what is unresolved");
  if (value !== undefined) {
    if (!(Number.isSafeInteger(value.schemaVersion) && value.schemaVersion >= 0)) {
      say("has no valid schema version");
    }
    if (!value.json.startsWith("{")) say("has a content that is not an object");
  }
  if (object.dependencies.some(({ address }) => address === object.address))
    say("depends on itself");
  const edges = object.dependencies.map(
    ({ address, kind, scope }) => `${kind} ${scope} ${address}`,
  );
  if (new Set(edges).size < edges.length) say("has a dependency twice");
  return problems;
}

function checkNewDependencies(
  before: StateObject | undefined,
  after: StateObject,
  index: ObjectIndex,
): string[] {
  if (after.deposed !== "" || after.dependencies === before?.dependencies) return [];
  const problems: string[] = [];
  const old = new Set(before?.dependencies.map(({ address }) => address));
  for (const { address, scope } of after.dependencies) {
    if (scope !== "instance") continue;
    const found = index.resolve(address);
    const what = `${after.address} depends on ${address}`;
    if (found === undefined) problems.push(`${what}, which does not exist`);
    else if (
      after.phase === "creating"
        ? found.phase !== "ready"
        : !old.has(address) && found.phase === "creating"
    )
      problems.push(`${what}, which is ${found.phase}`);
  }
  return problems;
}

function checkRemoval(
  before: StateObject,
  after: StateObject | undefined,
  index: ObjectIndex,
): string[] {
  if (before.deposed !== "") return [];
  const deleting = after?.phase === "deleting" && after.operation?.replace !== true;
  if (after !== undefined && !deleting) return [];
  // A clean failure of a create removes an object that has no dependents yet.
  const problems: string[] = [];
  for (const dependent of index.dependentsOf(before)) {
    if (dependent.address === before.address) continue;
    problems.push(`${before.address} would go, but ${dependent.address} depends on it`);
  }
  return problems;
}
