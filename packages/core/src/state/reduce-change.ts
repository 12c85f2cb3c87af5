import { EngineError } from "../errors.ts";
import type {
  ObjectContent,
  ObjectPatch,
  ObjectPlan,
  OperationPlan,
  OperationResult,
  StateChange,
} from "./state-change.ts";
import {
  addNote,
  type Dependency,
  isPending,
  isPlaceholder,
  type ObjectKey,
  type ObjectOperation,
  type ObjectPhase,
  objectKey,
  type StateObject,
} from "./state-object.ts";

/** What a step does to one key. */
export interface Edit {
  readonly key: ObjectKey;
  readonly before: StateObject | undefined;
  readonly after: StateObject | undefined;
}

/** Who writes, and when. */
interface WriteContext {
  readonly run: string;
  readonly epoch: bigint;
  readonly revision: bigint;
  readonly nowMs: number;
}

/** The objects as they are; an `ObjectIndex` is one. */
interface StateView {
  get(key: ObjectKey): StateObject | undefined;
  dependentsOf(object: StateObject): Iterable<StateObject>;
}

/**
 * What a step makes of the objects: the one place where phases change (the table is at {@link StateChange}). Pure.
 * `ENGINE_STATE_TRANSITION` when the objects are not in a phase that allows the step.
 */
export function reduceChange(view: StateView, change: StateChange, context: WriteContext): Edit[] {
  const reducer = new Reducer(view, context);
  switch (change.kind) {
    case "create":
      return [reducer.create(change.key, change.object, change.operation)];
    case "update":
      return [reducer.begin("update", change.key, change.operation, change.dependencies)];
    case "delete":
      return [reducer.begin("delete", change.key, change.operation)];
    case "depose":
      return reducer.depose(change.address, change.deposed, change.create);
    case "restore":
      return reducer.restore(change.address, change.deposed);
    case "note":
      return [reducer.note(change.key, change.operation, change.note)];
    case "settle":
      return [reducer.settle(change.key, change.operation, change.outcome)];
    case "record":
      return [reducer.record(change.key, change.patch)];
    case "adopt":
      return [reducer.adopt(change)];
    case "move":
      return reducer.move(change.from, change.to, change.patch);
    case "forget":
      return [reducer.forget(change.key)];
    default:
      return change satisfies never;
  }
}

/** The keys that a step touches, without reading the objects. */
export function keysOf(change: StateChange): readonly ObjectKey[] {
  switch (change.kind) {
    case "depose":
    case "restore":
      return [
        { address: change.address, deposed: "" },
        { address: change.address, deposed: change.deposed },
      ];
    case "move":
      return [change.from, change.to];
    case "create":
    case "update":
    case "delete":
    case "note":
    case "settle":
    case "record":
    case "adopt":
    case "forget":
      return [change.key];
    default:
      return change satisfies never;
  }
}

class Reducer {
  readonly #view: StateView;
  readonly #context: WriteContext;

  constructor(view: StateView, context: WriteContext) {
    this.#view = view;
    this.#context = context;
  }

  create(key: ObjectKey, plan: ObjectPlan, operation: OperationPlan): Edit {
    if (key.deposed !== "") throw refused(key, "create", "a deposed object cannot be created");
    const before = this.#vacant(key, "create");
    const after: StateObject = {
      ...this.#planned(key, plan, before),
      phase: "creating",
      operation: this.#operation("create", operation),
    };
    return { key, before, after };
  }

  begin(
    kind: "update" | "delete",
    key: ObjectKey,
    operation: OperationPlan,
    dependencies: readonly Dependency[] = [],
  ): Edit {
    const before = this.#in(key, kind, kind === "update" ? ["ready"] : ["ready", "tainted"]);
    return this.#edit(key, before, {
      ...before,
      phase: kind === "update" ? "updating" : "deleting",
      dependencies: union(before.dependencies, dependencies),
      operation: {
        ...this.#operation(kind, operation),
        ...(before.phase === "tainted" ? { tainted: true } : {}),
      },
    });
  }

  depose(
    address: string,
    deposed: string,
    create: { readonly object: ObjectPlan; readonly operation: OperationPlan } | undefined,
  ): Edit[] {
    const key = { address, deposed: "" };
    const target = { address, deposed };
    const before = this.#in(key, "depose", ["ready", "tainted"]);
    if (this.#view.get(target) !== undefined) {
      throw refused(target, "depose", "there is a deposed object with this key");
    }
    const old = this.#edit(target, undefined, { ...before, deposed, aliases: [] });
    if (create === undefined) return [old, { key, before, after: undefined }];
    const after: StateObject = {
      ...this.#planned(key, create.object, before),
      phase: "creating",
      operation: { ...this.#operation("create", create.operation), deposed },
    };
    return [old, { key, before, after }];
  }

  restore(address: string, deposed: string): Edit[] {
    const key = { address, deposed: "" };
    const source = { address, deposed };
    const before = this.#in(source, "restore", ["ready", "tainted"]);
    const current = this.#vacant(key, "restore");
    return [
      this.#edit(key, current, { ...before, deposed: "", aliases: current?.aliases ?? [] }),
      { key: source, before, after: undefined },
    ];
  }

  note(key: ObjectKey, id: string, note: Uint8Array): Edit {
    const before = this.#in(key, "note", ["creating", "updating"]);
    requireAnnounced(key, "note", before.operation, id);
    return this.#edit(key, before, { ...before, notes: addNote(before.notes, note) });
  }

  settle(key: ObjectKey, id: string, outcome: OperationResult): Edit {
    const before = this.#in(key, "settle", ["creating", "updating", "deleting", "unresolved"]);
    const { operation, notes, ...rest } = before;
    requireAnnounced(key, "settle", operation, id);
    switch (outcome.kind) {
      case "exists": {
        const settled = { ...rest, phase: phaseOf(outcome.tainted) };
        const patched =
          outcome.patch === undefined ? settled : this.#patched(settled, outcome.patch);
        return this.#edit(key, before, this.#observed(patched, outcome.content));
      }
      case "absent":
        if (!this.#isNeeded(before)) return { key, before, after: undefined };
        return this.#edit(key, before, placeholder(rest, operation));
      case "untouched":
        return this.#edit(key, before, this.#untouched(key, rest, operation));
      case "unresolved":
        return this.#edit(key, before, {
          ...rest,
          ...(notes !== undefined && { notes }),
          phase: "unresolved",
          operation: { ...operation, problem: outcome.problem },
        });
      default:
        return outcome satisfies never;
    }
  }

  record(key: ObjectKey, patch: ObjectPatch): Edit {
    const before = this.#in(key, "record", ["ready", "tainted"]);
    return this.#edit(key, before, this.#patched(before, patch));
  }

  adopt(change: Extract<StateChange, { kind: "adopt" }>): Edit {
    const { key, object, content, tainted = false } = change;
    const before = this.#vacant(key, "adopt");
    const planned = { ...this.#planned(key, object, before), phase: phaseOf(tainted) };
    return this.#edit(key, before, this.#observed(planned, content));
  }

  move(from: ObjectKey, to: ObjectKey, patch: ObjectPatch | undefined): Edit[] {
    const before = this.#view.get(from);
    if (before === undefined) throw refused(from, "move", "there is no such object");
    if (isPending(before)) throw refused(from, "move", `the object is ${before.phase}`);
    if (from.deposed !== to.deposed) throw refused(from, "move", "it would change the deposed key");
    const target = this.#vacant(to, "move");
    // Dependents still name the old address, and those of a placeholder the new one.
    const names = [...(target?.aliases ?? []), ...before.aliases, from.address];
    const aliases =
      from.deposed === "" ? [...new Set(names)].filter((name) => name !== to.address) : [];
    const moved: StateObject = { ...before, ...to, aliases };
    const after = patch === undefined ? moved : this.#patched(moved, patch);
    return [this.#edit(to, target, after), { key: from, before, after: undefined }];
  }

  forget(key: ObjectKey): Edit {
    const before = this.#view.get(key);
    if (before === undefined) throw refused(key, "forget", "there is no such object");
    if (isPending(before)) throw refused(key, "forget", `the object is ${before.phase}`);
    return { key, before, after: undefined };
  }

  #operation(kind: ObjectOperation["kind"], plan: OperationPlan): ObjectOperation {
    const { id, replace = false, probe, sensitive = [], tainted = false } = plan;
    const { run, epoch } = this.#context;
    return {
      id,
      kind,
      started: true,
      run,
      epoch,
      replace,
      ...(probe === undefined ? {} : { probe }),
      ...(sensitive.length > 0 && { sensitive }),
      ...(tainted ? { tainted } : {}),
    };
  }

  /** An object without content, to be created or adopted where `before` was. */
  #planned(key: ObjectKey, plan: ObjectPlan, before: StateObject | undefined): Unphased {
    const { epoch, revision, nowMs } = this.#context;
    return {
      ...key,
      mode: plan.mode,
      type: plan.type,
      provider: plan.provider,
      dependencies: plan.dependencies,
      createBeforeDestroy: plan.createBeforeDestroy,
      privateBytes: new Uint8Array(),
      observedAtMs: nowMs,
      epoch,
      revision,
      aliases: before?.aliases ?? [],
    };
  }

  #edit(key: ObjectKey, before: StateObject | undefined, after: StateObject): Edit {
    const { epoch, revision } = this.#context;
    return { key, before, after: { ...after, epoch, revision } };
  }

  #patched(object: StateObject, patch: ObjectPatch): StateObject {
    const patched: StateObject = {
      ...object,
      provider: patch.provider ?? object.provider,
      type: patch.type ?? object.type,
      dependencies: patch.dependencies ?? object.dependencies,
      createBeforeDestroy: patch.createBeforeDestroy ?? object.createBeforeDestroy,
      phase: patch.phase ?? object.phase,
      observedAtMs: patch.observed === true ? this.#context.nowMs : object.observedAtMs,
    };
    return patch.content === undefined ? patched : withContent(patched, patch.content);
  }

  #observed(object: StateObject, content: ObjectContent): StateObject {
    return withContent({ ...object, observedAtMs: this.#context.nowMs }, content);
  }

  /** The object as it was before an operation that did nothing. */
  #untouched(key: ObjectKey, rest: StateObject, operation: ObjectOperation): StateObject {
    if (operation.kind === "create") {
      throw refused(key, "settle", "a create that did nothing leaves nothing: settle it as absent");
    }
    return { ...rest, phase: phaseOf(operation.tainted === true) };
  }

  /** Whether others hold on to the address of an object that is gone. */
  #isNeeded(object: StateObject): boolean {
    if (object.deposed !== "") return false;
    for (const _dependent of this.#view.dependentsOf(object)) return true;
    return false;
  }

  #in(key: ObjectKey, change: string, phases: readonly ObjectPhase[]): StateObject {
    const object = this.#view.get(key);
    if (object === undefined) throw refused(key, change, "there is no such object");
    if (phases.includes(object.phase)) return object;
    throw refused(key, change, `the object is ${object.phase}`);
  }

  /** The placeholder under a key, or nothing; fails when there is more. */
  #vacant(key: ObjectKey, change: string): StateObject | undefined {
    const object = this.#view.get(key);
    if (object === undefined || isPlaceholder(object)) return object;
    throw refused(key, change, `there is an object already, which is ${object.phase}`);
  }
}

type Unphased = Omit<StateObject, "phase">;

/** All of both, once; the same list where the second adds nothing. */
function union(
  present: readonly Dependency[],
  added: readonly Dependency[],
): readonly Dependency[] {
  const known = new Set(present.map(dependencyKey));
  const further = added.filter((dependency) => !known.has(dependencyKey(dependency)));
  return further.length === 0 ? present : [...present, ...further];
}

function dependencyKey({ address, scope, kind }: Dependency): string {
  return `${kind} ${scope} ${address}`;
}

function phaseOf(tainted: boolean): "tainted" | "ready" {
  return tainted ? "tainted" : "ready";
}

function withContent(object: StateObject, content: ObjectContent): StateObject {
  const { identity: _identity, ...rest } = object;
  return {
    ...rest,
    value: content.value,
    privateBytes: content.privateBytes,
    ...(content.identity === undefined ? {} : { identity: content.identity }),
  };
}

function placeholder(rest: StateObject, operation: ObjectOperation): StateObject {
  const { value: _value, identity: _identity, ...kept } = rest;
  const {
    probe: _probe,
    sensitive: _sensitive,
    problem: _problem,
    tainted: _tainted,
    deposed: _deposed,
    ...announced
  } = operation;
  return {
    ...kept,
    phase: "creating",
    privateBytes: new Uint8Array(),
    operation: { ...announced, kind: "create", started: false },
  };
}

function requireAnnounced(
  key: ObjectKey,
  change: string,
  operation: ObjectOperation | undefined,
  id: string,
): asserts operation is ObjectOperation {
  if (operation?.started === true && operation.id === id) return;
  throw refused(key, change, `the operation ${id} is not the announced one`);
}

function refused(key: ObjectKey, change: string, why: string): EngineError {
  const name = objectKey(key).replace("\0", " deposed ");
  return new EngineError("ENGINE_STATE_TRANSITION", `${change} of ${name}: ${why}`, {
    details: { addresses: [key.address] },
  });
}
