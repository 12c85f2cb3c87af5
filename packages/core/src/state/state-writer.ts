import type { Clock } from "@stackwright/base/clock";
import { StateObject as ObjectMessage, RevisionChanges } from "@stackwright/proto/stackwright";
import type { BatchOperation, CallOptions, Resource } from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import type { ApplyStatus } from "./apply-status.ts";
import { checkEdits } from "./check-object.ts";
import type { CheckResult } from "./check-result.ts";
import { checkState } from "./check-state.ts";
import type { FencedWriter } from "./fenced-writer.ts";
import { revisionOperation } from "./history.ts";
import { STATE_KINDS, stackResourceId } from "./kinds.ts";
import { ObjectIndex } from "./object-index.ts";
import { type Edit, keysOf, reduceChange } from "./reduce-change.ts";
import type { PublishedOutputs, StackRecords } from "./stack-records.ts";
import type { FinishRun, StackHead, StackInput, StackOutput, StateWriter } from "./stack-state.ts";
import type { StateChange } from "./state-change.ts";
import { isPlaceholder, objectKey, type StateObject } from "./state-object.ts";

const PLACEHOLDERS_AT_ONCE = 16;

/** What a writer begins with. */
interface WriterParts {
  readonly records: StackRecords;
  readonly writes: FencedWriter;
  readonly scheduler: Clock;
  /** Makes a ULID. */
  readonly token: () => string;
  readonly run: string;
  readonly epoch: bigint;
  readonly head: StackHead;
  readonly headResource: Resource | undefined;
  readonly objects: readonly { readonly object: StateObject; readonly resource: Resource }[];
  readonly published: PublishedOutputs;
  readonly outputsResource: Resource | undefined;
}

// The head is closed before the first write of a run and after the last, and rises with both:
//
//   idle (R, "")  --first step-->  open (R+1, run)  --finish-->  idle (R+2, "")
//
// The first step and the opening of the head are one batch; steps that come meanwhile wait for it. So a reader that
// finds the head idle at R twice has read the whole state of R in between, and a plan created from R is stale after any
// later write. A run that finds the head open continues from there: with its own name in it nothing is written to the
// head, otherwise its first step raises it once more.

/** The one implementation of {@link StateWriter}. */
export class RunStateWriter implements StateWriter {
  readonly run: string;
  readonly epoch: bigint;
  readonly resumed: boolean;
  readonly #parts: WriterParts;
  readonly #index: ObjectIndex;
  readonly #resources = new Map<string, Resource>();
  /** What the run found under the keys that it wrote, as stored. */
  readonly #found = new Map<string, Uint8Array | undefined>();
  /** The last step on each key; `over` never rejects. */
  readonly #tails = new Map<string, { readonly mark: symbol; readonly over: Promise<void> }>();
  #head: StackHead;
  #headResource: Resource | undefined;
  #published: PublishedOutputs;
  #outputsResource: Resource | undefined;
  /** Resolves when the head is open, or the attempt has failed. */
  #opening: Promise<void> | undefined;
  readonly #complete: boolean;
  #state: "open" | "finishing" | "finished" = "open";

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.run = parts.run;
    this.epoch = parts.epoch;
    this.resumed = parts.head.run === parts.run;
    this.#complete = parts.head.run === "";
    this.#head = parts.head;
    this.#headResource = parts.headResource;
    this.#published = parts.published;
    this.#outputsResource = parts.outputsResource;
    this.#index = new ObjectIndex(parts.objects.map(({ object }) => object));
    for (const { object, resource } of parts.objects) {
      this.#resources.set(objectKey(object), resource);
    }
  }

  get signal(): AbortSignal {
    return this.#parts.writes.signal;
  }

  get objects(): ReadonlyMap<string, StateObject> {
    return this.#index.objects;
  }

  get outputs(): ReadonlyMap<string, StackOutput> {
    return this.#published.outputs;
  }

  get inputs(): readonly StackInput[] {
    return this.#published.inputs;
  }

  get head(): StackHead {
    return this.#head;
  }

  object(address: string, deposed = ""): StateObject | undefined {
    return this.#index.get({ address, deposed });
  }

  deposed(address: string): readonly StateObject[] {
    return this.#index.deposed(address);
  }

  unusedDeposedKey(address: string): string {
    const used = new Set(this.deposed(address).map(({ deposed }) => deposed));
    for (;;) {
      // The last characters of a ULID are random, and rise within a millisecond.
      const key = hex8(this.#parts.token());
      if (!used.has(key)) return key;
    }
  }

  write(change: StateChange, options: CallOptions = {}): Promise<readonly StateObject[]> {
    const keys = keysOf(change).map(objectKey);
    const before = keys.flatMap((key) => this.#tails.get(key)?.over ?? []);
    const step = Promise.all(before).then(() => this.#step(change, options));
    const mark = Symbol(change.kind);
    const tail = { mark, over: this.#untilOver(step, keys, mark) };
    for (const key of keys) this.#tails.set(key, tail);
    return step;
  }

  async finish(
    { status, ...result }: FinishRun = {},
    options: CallOptions = {},
  ): Promise<StackHead> {
    if (this.#state === "finished") return this.#head;
    await Promise.all([...this.#tails.values()].map(({ over }) => over));
    this.#state = "finishing";
    try {
      this.#parts.writes.assertHeld();
      await this.#dropPlaceholders();
      const problems = checkState(this.#index.objects.values());
      if (problems.length > 0) throw invariant("the state cannot be left like this", problems);
      await this.#close({ ...this.#published, ...result }, status, options);
      this.#state = "finished";
      return this.#head;
    } finally {
      if (this.#state === "finishing") this.#state = "open";
    }
  }

  /** Waits for a step, however it ends, and forgets it where no later one waits for it. */
  async #untilOver(step: Promise<unknown>, keys: readonly string[], mark: symbol): Promise<void> {
    await step.catch(() => undefined);
    for (const key of keys) if (this.#tails.get(key)?.mark === mark) this.#tails.delete(key);
  }

  async #step(change: StateChange, options: CallOptions): Promise<readonly StateObject[]> {
    options.signal?.throwIfAborted();
    if (this.#state !== "open") throw this.#ended();
    this.#parts.writes.assertHeld();
    const edits = this.#reduce(change);
    await this.#perform(edits);
    return edits.flatMap(({ after }) => after ?? []);
  }

  async #perform(edits: readonly Edit[]): Promise<void> {
    const token = this.#parts.token();
    const operations = await Promise.all(edits.map((edit) => this.#operation(edit, token)));
    const resources = await this.#writeOpen(operations, token);
    for (const [position, edit] of edits.entries()) this.#acknowledge(edit, resources[position]);
  }

  /** Removes the placeholders that have no dependents left; each may keep the next. */
  async #dropPlaceholders(): Promise<void> {
    for (;;) {
      const edits: Edit[] = [];
      for (const object of this.#index.objects.values()) {
        if (!isPlaceholder(object) || edits.length === PLACEHOLDERS_AT_ONCE) continue;
        const [dependent] = this.#index.dependentsOf(object);
        const key = { address: object.address, deposed: "" };
        if (dependent === undefined) edits.push({ key, before: object, after: undefined });
      }
      if (edits.length === 0) return;
      await this.#perform(edits);
    }
  }

  #reduce(change: StateChange): Edit[] {
    const open = this.#head.run === this.run;
    const edits = reduceChange(this.#index, change, {
      run: this.run,
      epoch: this.epoch,
      revision: open ? this.#head.revision : this.#head.revision + 1n,
      nowMs: Math.floor(this.#parts.scheduler.wallMs()),
    });
    const problems = checkEdits(edits, this.#index);
    if (problems.length > 0) throw invariant(`${change.kind} would break the state`, problems);
    return edits;
  }

  async #operation({ key, after }: Edit, token: string): Promise<BatchOperation> {
    const { records } = this.#parts;
    const stored = this.#resources.get(objectKey(key));
    const id = records.objectId(key);
    if (after === undefined) {
      const uid = stored?.id.uid ?? "";
      return { kind: "delete", id: { ...id, uid }, version: stored?.version ?? "" };
    }
    const bytes = await records.encodeObject(after);
    return { kind: "write", resource: records.resource(id, stored, bytes, token) };
  }

  /** Writes operations on objects, together with the opening of the head where it is not open yet. */
  async #writeOpen(
    operations: readonly BatchOperation[],
    token: string,
  ): Promise<readonly (Resource | undefined)[]> {
    while (this.#opening !== undefined && this.#head.run !== this.run) await this.#opening;
    if (this.#head.run === this.run) return this.#parts.writes.write(operations);
    const head = { revision: this.#head.revision + 1n, run: this.run };
    const writing = this.#parts.writes.write([this.#headOperation(head, token), ...operations]);
    this.#opening = this.#opened(writing, head);
    const [, ...resources] = await writing;
    await this.#opening;
    return resources;
  }

  async #opened(
    writing: Promise<readonly (Resource | undefined)[]>,
    head: StackHead,
  ): Promise<void> {
    try {
      [this.#headResource] = await writing;
      this.#head = head;
    } catch {
      // The step that tried it reports the failure; the next one tries again.
      this.#opening = undefined;
    }
  }

  #headOperation(head: StackHead, token: string): BatchOperation {
    const { records } = this.#parts;
    const id = stackResourceId(records.reference, STATE_KINDS.head);
    const bytes = records.encodeHead(head);
    return { kind: "write", resource: records.resource(id, this.#headResource, bytes, token) };
  }

  #acknowledge({ key, after }: Edit, resource: Resource | undefined): void {
    const name = objectKey(key);
    const before = this.#resources.get(name);
    if (!this.#found.has(name)) this.#found.set(name, before?.data?.value);
    this.#index.set(key, after);
    if (resource === undefined) this.#resources.delete(name);
    else this.#resources.set(name, resource);
  }

  async #close(
    result: Omit<PublishedOutputs, "revision" | "changes">,
    status: ApplyStatus | undefined,
    options: CallOptions,
  ): Promise<void> {
    const { records, writes, token: nextToken } = this.#parts;
    options.signal?.throwIfAborted();
    const same = sameOutputs(result.outputs, this.#published.outputs);
    const published =
      same &&
      sameChecks(result.checks, this.#published.checks) &&
      sameInputs(result.inputs, this.#published.inputs);
    if (published && this.#head.run === "") return;
    const token = nextToken();
    const head = { revision: this.#head.revision + 1n, run: "" };
    const operations = [
      this.#headOperation(head, token),
      await this.#history(head.revision, token, status),
    ];
    // The readers of this stack's outputs recognize by the revision that the outputs changed.
    const revision = same ? this.#published.revision : head.revision;
    const changes = changesOf(result.outputs, this.#published, head.revision);
    const next: PublishedOutputs = { ...result, revision, changes };
    if (!published) {
      const id = stackResourceId(records.reference, STATE_KINDS.outputs);
      const bytes = await records.encodeOutputs(next, options);
      const resource = records.resource(id, this.#outputsResource, bytes, token);
      operations.push({ kind: "write", resource });
    }
    const [headResource, , outputsResource] = await writes.write(operations);
    this.#head = head;
    this.#headResource = headResource;
    if (published) return;
    this.#published = next;
    this.#outputsResource = outputsResource;
  }

  async #history(
    revision: bigint,
    token: string,
    status: ApplyStatus | undefined,
  ): Promise<BatchOperation> {
    const decode = (bytes: Uint8Array | undefined): ObjectMessage | undefined =>
      bytes && ObjectMessage.decode(bytes);
    const changes = [...this.#found].map(([key, before]) => ({
      before: decode(before),
      after: decode(this.#resources.get(key)?.data?.value),
    }));
    return revisionOperation(this.#parts.records, RevisionChanges.create({ changes }), {
      revision,
      run: this.run,
      finishedAtMs: Math.floor(this.#parts.scheduler.wallMs()),
      changed: this.#found.size,
      complete: this.#complete,
      status,
      token,
    });
  }

  #ended(): EngineError {
    return new EngineError("ENGINE_STATE_TRANSITION", `the run ${this.run} has finished writing`);
  }
}

/** `ENGINE_STATE_INVARIANT` with everything that is wrong. */
export function invariant(message: string, problems: readonly string[]): EngineError {
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return new EngineError("ENGINE_STATE_INVARIANT", `${message}: ${problems[0] ?? ""}${more}`, {
    details: { problems },
  });
}

function sameChecks(a: readonly CheckResult[], b: readonly CheckResult[]): boolean {
  return (
    a.length === b.length &&
    a.every((check, at) => {
      const other = b[at];
      return (
        check.address === other?.address &&
        check.kind === other.kind &&
        check.index === other.index &&
        check.status === other.status &&
        check.message === other.message
      );
    })
  );
}

function sameInputs(a: readonly StackInput[], b: readonly StackInput[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ stack, name, revision, outputs }, at) => {
      const other = b[at];
      return (
        stack.account === other?.stack.account &&
        stack.project === other.stack.project &&
        stack.stack === other.stack.stack &&
        name === other.name &&
        revision === other.revision &&
        outputs.join("\0") === other.outputs.join("\0")
      );
    })
  );
}

function sameOutputs(
  a: ReadonlyMap<string, StackOutput>,
  b: ReadonlyMap<string, StackOutput>,
): boolean {
  return a.size === b.size && Array.from(a).every(([name, one]) => isSameOutput(one, b.get(name)));
}

function isSameOutput(a: StackOutput, b: StackOutput | undefined): boolean {
  return a.type === b?.type && a.json === b.json && a.sensitive === b.sensitive;
}

/** The revisions with which outputs became what they are. */
function changesOf(
  outputs: ReadonlyMap<string, StackOutput>,
  former: PublishedOutputs,
  revision: bigint,
): ReadonlyMap<string, bigint> {
  const changes = Array.from(outputs, ([name, output]): [string, bigint] => {
    const isSame = isSameOutput(output, former.outputs.get(name));
    return [name, isSame ? (former.changes.get(name) ?? former.revision) : revision];
  });
  return new Map(changes);
}

function hex8(ulid: string): string {
  let number = 0;
  for (const letter of ulid.slice(-7))
    number = (Math.imul(number, 37) + letter.charCodeAt(0)) >>> 0;
  return number.toString(16).padStart(8, "0");
}
