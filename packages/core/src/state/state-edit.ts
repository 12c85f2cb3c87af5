import { type Address, containsAddress, formatAddress, parseAddress } from "@stackwright/lang";
import { EngineError } from "../errors.ts";
import { checkEdits } from "./check-object.ts";
import { checkState, resourceOf } from "./check-state.ts";
import { ObjectIndex } from "./object-index.ts";
import { reduceChange } from "./reduce-change.ts";
import type { StackHead, StackLock, StackSnapshot } from "./stack-state.ts";
import type { ObjectContent, StateChange } from "./state-change.ts";
import { type Dependency, isNoted, objectKey, type StateObject } from "./state-object.ts";

/** An operator's change of the recorded state, without any call to a provider. */
export type StateEdit =
  /** Objects get other addresses: of one instance, of a resource with all instances, of a module with all in it. */
  | { readonly kind: "move"; readonly from: string; readonly to: string }
  /** Objects are given up; what they really are stays as it is. */
  | { readonly kind: "forget"; readonly address: string; readonly deposed?: string }
  /** The next plan replaces the object. */
  | { readonly kind: "taint"; readonly address: string }
  | { readonly kind: "untaint"; readonly address: string }
  /**
   * Resolves an operation whose result could not be determined: the object does not exist, or it exists (with its
   * content, after a create).
   */
  | {
      readonly kind: "resolve";
      readonly address: string;
      readonly deposed?: string;
      readonly exists: false | ObjectContent | true;
    };

/** What edits of the state would do, for review: bound to the revision that they were planned from. */
export interface StateEditPlan {
  readonly baseRevision: bigint;
  readonly edits: readonly StateEdit[];
  /** The steps, in order. */
  readonly steps: readonly StateChange[];
  /** What they change, by object; both absent is not there. */
  readonly changes: readonly StateEditChange[];
}

export interface StateEditChange {
  readonly address: string;
  readonly deposed: string;
  readonly before?: StateObject;
  readonly after?: StateObject;
  /** Whether only its dependencies changed, because another object did. */
  readonly indirect: boolean;
}

/**
 * Plans edits of the state, one after the other. Nothing is written. `ENGINE_SURGERY_INVALID` when an address is malformed or
 * means nothing, or when a run is writing or was interrupted; `ENGINE_STATE_TRANSITION` and `ENGINE_STATE_INVARIANT` as
 * for the steps of a run.
 */
export function planStateEdits(
  snapshot: StackSnapshot,
  edits: readonly StateEdit[],
): StateEditPlan {
  if (snapshot.head.run !== "") {
    throw invalid(`the run ${snapshot.head.run} is writing the state, or was interrupted`);
  }
  const operating = new Operating(snapshot);
  for (const edit of edits) operating.do(edit);
  return { baseRevision: snapshot.head.revision, edits, ...operating.result() };
}

/**
 * Does what was planned, as a run of its own in the history. `ENGINE_PLAN_STALE` when the state is another one than at
 * the time of planning.
 */
export async function applyStateEdits(
  hold: StackLock,
  run: string,
  { baseRevision, steps }: Pick<StateEditPlan, "baseRevision" | "steps">,
): Promise<StackHead> {
  const writer = await hold.begin({ run, base: baseRevision });
  for (const step of steps) await writer.write(step);
  return writer.finish({ outputs: writer.outputs });
}

// The steps are computed on a copy of the state by the reducer and the rules of the writes, so that an edit that can be
// planned can be written.

class Operating {
  readonly #index: ObjectIndex;
  readonly #original: StackSnapshot;
  readonly #steps: StateChange[] = [];
  readonly #direct = new Set<string>();

  constructor(snapshot: StackSnapshot) {
    this.#original = snapshot;
    this.#index = new ObjectIndex(snapshot.objects.values());
  }

  do(edit: StateEdit): void {
    switch (edit.kind) {
      case "move":
        return this.#move(edit.from, edit.to);
      case "forget":
        return this.#forget(edit.address, edit.deposed);
      case "taint":
      case "untaint": {
        const phase = edit.kind === "taint" ? "tainted" : "ready";
        const key = { address: edit.address, deposed: "" };
        return this.#step({ kind: "record", key, patch: { phase } });
      }
      case "resolve":
        return this.#resolve(edit);
      default:
        return edit satisfies never;
    }
  }

  result(): Pick<StateEditPlan, "steps" | "changes"> {
    const problems = checkState(this.#index.objects.values());
    if (problems.length > 0) {
      throw new EngineError("ENGINE_STATE_INVARIANT", `the state would be broken: ${problems[0]}`, {
        details: { problems },
      });
    }
    const before = this.#original.objects;
    const after = this.#index.objects;
    const changes = [...new Set([...before.keys(), ...after.keys()])].flatMap(
      (key): StateEditChange[] => {
        const [old, present] = [before.get(key), after.get(key)];
        const object = present ?? old;
        if (object === undefined || old === present) return [];
        return [
          {
            address: object.address,
            deposed: object.deposed,
            ...(old === undefined ? {} : { before: old }),
            ...(present === undefined ? {} : { after: present }),
            indirect: !this.#direct.has(key),
          },
        ];
      },
    );
    return {
      steps: this.#steps,
      changes: changes.sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1)),
    };
  }

  #move(from: string, to: string): void {
    const [source, target] = [parse(from), parse(to)];
    if (source.kind !== target.kind) throw invalid(`${from} cannot become ${to}`);
    const moved = [...this.#index.objects.values()].filter((object) =>
      containsAddress(source, parse(object.address)),
    );
    if (moved.length === 0) throw invalid(`there is nothing at ${from}`, from);
    const addresses = new Map<string, string>();
    // Current objects first: a deposed one alone has no place.
    for (const object of moved.sort((a, b) => (a.deposed < b.deposed ? -1 : 1))) {
      const address = formatAddress(replaceStart(parse(object.address), source, target));
      addresses.set(object.address, address);
      const { deposed } = object;
      this.#step({
        kind: "move",
        from: { address: object.address, deposed },
        to: { address, deposed },
      });
    }
    this.#rewriteDependents(addresses);
  }

  /** Dependents name the new addresses; of a resource as a whole when any of its instances went. */
  #rewriteDependents(addresses: ReadonlyMap<string, string>): void {
    const resources = new Map(
      [...addresses].map(([from, to]) => [resourceOf(from), resourceOf(to)]),
    );
    const objects = [...this.#index.objects.values()];
    for (const object of objects) {
      const dependencies = unique(
        object.dependencies.flatMap((dependency): Dependency[] => {
          const { address, scope } = dependency;
          const to = scope === "instance" ? addresses.get(address) : resources.get(address);
          if (to === undefined || to === address) return [dependency];
          const isLeft = scope === "resource" && this.#hasInstance(address);
          return isLeft
            ? [dependency, { ...dependency, address: to }]
            : [{ ...dependency, address: to }];
        }),
      );
      const same =
        dependencies.length === object.dependencies.length &&
        dependencies.every(({ address }, at) => address === object.dependencies[at]?.address);
      if (!same) this.#record(object, dependencies);
    }
  }

  #hasInstance(resource: string): boolean {
    return [...this.#index.objects.keys()].some((key) => resourceOf(key) === resource);
  }

  #forget(address: string, deposed = ""): void {
    const target = parse(address);
    const objects = [...this.#index.objects.values()].filter((object) =>
      deposed === ""
        ? containsAddress(target, parse(object.address))
        : object.address === address && object.deposed === deposed,
    );
    if (objects.length === 0) throw invalid(`there is nothing at ${address}`, address);
    const gone = new Set(objects.map(objectKey));
    for (const object of objects) {
      if (object.deposed === "") {
        const dependents = [...this.#index.dependentsOf(object)];
        for (const dependent of dependents) {
          // Its dependents inherit its dependencies, so that the order of deletion stays as it was.
          this.#record(
            dependent,
            unique([
              ...dependent.dependencies.filter((edge) => edge.address !== object.address),
              ...object.dependencies.filter((edge) => edge.address !== dependent.address),
            ]),
            gone.has(objectKey(dependent)),
          );
        }
      }
      this.#step({ kind: "forget", key: { address: object.address, deposed: object.deposed } });
    }
  }

  #resolve({ address, deposed = "", exists }: Extract<StateEdit, { kind: "resolve" }>): void {
    const object = this.#index.get({ address, deposed });
    if (object?.phase !== "unresolved" || object.operation === undefined) {
      throw invalid(`${address} is not unresolved`, address);
    }
    const key = { address, deposed };
    const operation = object.operation.id;
    // Its parts exist, and would be made once more.
    if (isNoted(object)) {
      throw invalid(
        `${address} has recorded parts, which are read and kept by: stackwright recover --absent '${address}'`,
        address,
      );
    }
    if (exists === false) {
      return this.#step({ kind: "settle", key, operation, outcome: { kind: "absent" } });
    }
    const recorded = object.value && {
      value: object.value,
      privateBytes: object.privateBytes,
      ...(object.identity === undefined ? {} : { identity: object.identity }),
    };
    const content = exists === true ? recorded : exists;
    if (content === undefined) {
      throw invalid(`${address} was never recorded: say what it is, or import it`, address);
    }
    const tainted = object.operation?.tainted === true;
    const outcome = { kind: "exists", content, tainted } as const;
    return this.#step({ kind: "settle", key, operation, outcome });
  }

  #record(object: StateObject, dependencies: readonly Dependency[], skip = false): void {
    const { address, deposed, phase } = object;
    if (phase !== "ready" && phase !== "tainted") {
      if (skip) return;
      throw invalid(`${address} is ${phase} and depends on what would change`, address);
    }
    this.#apply({ kind: "record", key: { address, deposed }, patch: { dependencies } });
  }

  #step(change: StateChange): void {
    for (const key of this.#apply(change)) this.#direct.add(key);
  }

  #apply(change: StateChange): readonly string[] {
    const edits = reduceChange(this.#index, change, {
      run: "",
      epoch: 0n,
      revision: this.#original.head.revision,
      nowMs: 0,
    });
    const problems = checkEdits(edits, this.#index);
    if (problems.length > 0) {
      throw new EngineError("ENGINE_STATE_INVARIANT", problems[0], { details: { problems } });
    }
    for (const { key, after } of edits) this.#index.set(key, after);
    this.#steps.push(change);
    return edits.map(({ key }) => objectKey(key));
  }
}

function parse(text: string): Address {
  const { value, diagnostics } = parseAddress(text);
  if (value !== undefined) return value;
  throw invalid(`"${text}" is not a valid address: ${diagnostics[0]?.detail ?? ""}`, text);
}

/** The address with its part that `source` means exchanged for `target`. */
function replaceStart(address: Address, source: Address, target: Address): Address {
  if (source.kind === "module" && target.kind === "module") {
    const rest = address.module.slice(source.module.length);
    const last = target.module.at(-1);
    const own = address.module[source.module.length - 1];
    // A key that the source leaves open is kept.
    const head =
      last !== undefined && last.key === undefined && source.module.at(-1)?.key === undefined
        ? [...target.module.slice(0, -1), { ...last, key: own?.key }]
        : target.module;
    return { ...address, module: [...head, ...rest] };
  }
  if (address.kind !== "resource" || source.kind !== "resource" || target.kind !== "resource") {
    return address;
  }
  const key = source.key === undefined && target.key === undefined ? address.key : target.key;
  return { ...target, key };
}

function unique(dependencies: readonly Dependency[]): readonly Dependency[] {
  const known = new Map(
    dependencies.map((one) => [`${one.kind} ${one.scope} ${one.address}`, one]),
  );
  return [...known.values()];
}

function invalid(message: string, address?: string): EngineError {
  const options = address === undefined ? {} : { details: { addresses: [address] } };
  return new EngineError("ENGINE_SURGERY_INVALID", message, options);
}
