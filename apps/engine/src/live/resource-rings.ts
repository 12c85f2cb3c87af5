import type { Collection, Index } from "@stackwright/krt";
import { Bell } from "../bell.ts";
import type { ResourceFact } from "./resource-facts.ts";
import type { StackFact } from "./stack-facts.ts";

/** Changes of one stack that a reader may be behind before it gets everything again: turns, and objects in them. */
const KEPT_TURNS = 10_000;
const KEPT_OBJECTS = 20_000;
/** Stacks without a reader at the moment whose changes are kept nevertheless, for readers that come back: so many, and so much of all. */
const KEPT_IDLE = 500;
const KEPT_IDLE_BYTES = 32 * 1024 * 1024;

/** What a changed object takes in memory, roughly: itself, its text for readers, and the characters of both. */
const OBJECT_BYTES = 512;
const BYTES_OF_CHARACTER = 4;

/** An object of a stack by the name of the stack. */
export interface NamedResource {
  readonly stack: StackFact;
  readonly resource: ResourceFact;
}

interface ResourceTurn {
  readonly revision: number;
  readonly set: readonly NamedResource[];
  /** The objects as they were last. */
  readonly deleted: readonly NamedResource[];
}

interface Ring {
  /** What the name stands for; undefined while there is no such stack. */
  stack: StackFact | undefined;
  /** Revisions before it are of nothing that the turns continue. */
  base: number;
  /** Objects in the turns, and what they take. */
  objects: number;
  bytes: number;
  readonly turns: ResourceTurn[];
  readonly bell: Bell;
}

interface ResourceRingInputs {
  /** By ACCOUNT/PROJECT/NAME. */
  readonly named: Collection<StackFact>;
  readonly all: Collection<ResourceFact>;
  readonly byStack: Index<string, ResourceFact>;
  /** What the changes of all stacks without a reader may take together. @default 32 MiB */
  readonly idleBytes?: number;
}

// Invariants:
// - Of the objects of all stacks, by far the most that there are, nothing is kept here but the last changes of stacks that somebody
//   follows. A snapshot is what the collection has. Handlers run after a turn is committed, so a snapshot may be ahead of the
//   turns; each change is therefore given as what the collection has by then: twice perhaps, but never of the time before.
// - Revisions rise over all rings and are never used again. A ring that begins, or whose name stands for another stack, begins
//   behind all of them, so that no position of before continues in it.
// - `#bytes` is the sum over all rings. A ring without a waiting reader is idle, also between two looks of a slow reader: where it goes, that
//   reader gets a snapshot. What somebody waits for is bounded by ring alone.

/** The last changes of the objects of each stack that is followed, for any number of readers. */
export class ResourceRings implements Disposable {
  readonly #inputs: ResourceRingInputs;
  readonly #ends = new AbortController();
  /** By ACCOUNT/PROJECT/NAME; that which was asked for last is the last one. */
  readonly #rings = new Map<string, Ring>();
  /** Those of stacks that exist, by the key of the stack. */
  readonly #byStack = new Map<string, Ring>();
  #revision = 0;
  #bytes = 0;

  constructor(inputs: ResourceRingInputs) {
    this.#inputs = inputs;
  }

  /** The objects of the stack with a name, none where there is no such stack. */
  snapshot(name: string): {
    readonly revision: number;
    readonly objects: readonly NamedResource[];
  } {
    const { stack } = this.#ring(name);
    if (stack === undefined) return { revision: this.#revision, objects: [] };
    const resources = this.#inputs.byStack.lookup(keyOf(stack));
    return {
      revision: this.#revision,
      objects: resources.map((resource) => ({ stack, resource })),
    };
  }

  /** The turns behind a revision; undefined where some of them are gone, or the revision is of another ring. */
  after(name: string, revision: number): readonly ResourceTurn[] | undefined {
    const { base, turns } = this.#ring(name);
    if (revision < base || revision > this.#revision) return undefined;
    // Most readers have all of them, or nearly all.
    const first = turns.findLastIndex((turn) => turn.revision <= revision) + 1;
    return turns.slice(first);
  }

  /** Resolves when there is a turn behind the present one, or the signal aborts. */
  async changed(name: string, signal: AbortSignal): Promise<void> {
    await this.#ring(name).bell.rung(signal);
  }

  [Symbol.dispose](): void {
    this.#ends.abort();
  }

  #ring(name: string): Ring {
    const found = this.#rings.get(name);
    if (found === undefined) return this.#begin(name);
    this.#rings.delete(name);
    this.#rings.set(name, found);
    return found;
  }

  #begin(name: string): Ring {
    if (this.#revision === 0) this.#follow();
    this.#dropIdle();
    const ring: Ring = {
      stack: undefined,
      base: 0,
      objects: 0,
      bytes: 0,
      turns: [],
      bell: new Bell(),
    };
    this.#rings.set(name, ring);
    this.#enter(ring, this.#inputs.named.get(name));
    return ring;
  }

  /** Lets a ring begin anew with what its name stands for now. */
  #enter(ring: Ring, stack: StackFact | undefined): void {
    if (ring.stack !== undefined) this.#byStack.delete(keyOf(ring.stack));
    ring.stack = stack;
    ring.base = this.#revision += 1;
    this.#bytes -= ring.bytes;
    ring.objects = 0;
    ring.bytes = 0;
    ring.turns.length = 0;
    if (stack !== undefined) this.#byStack.set(keyOf(stack), ring);
    ring.bell.ring();
  }

  #follow(): void {
    const { named, all } = this.#inputs;
    const options = { replay: false, signal: this.#ends.signal };
    named.subscribe((event) => {
      const ring = this.#rings.get(event.key);
      const stack = named.get(event.key);
      if (ring !== undefined && ring.stack?.id !== stack?.id) this.#enter(ring, stack);
    }, options);
    all.subscribeBatch((events) => {
      const changes = new Map<Ring, { set: NamedResource[]; deleted: NamedResource[] }>();
      for (const event of events) {
        const last = event.type === "delete" ? event.old : event.new;
        const ring = this.#byStack.get(last.stack);
        const stack = ring?.stack;
        if (ring === undefined || stack === undefined) continue;
        let change = changes.get(ring);
        if (change === undefined) changes.set(ring, (change = { set: [], deleted: [] }));
        const resource = all.get(event.key);
        if (resource === undefined) change.deleted.push({ stack, resource: last });
        else change.set.push({ stack, resource });
      }
      if (changes.size === 0) return;
      const revision = (this.#revision += 1);
      for (const [ring, change] of changes) {
        const before = ring.bytes;
        addTurn(ring, { revision, ...change });
        this.#bytes += ring.bytes - before;
      }
      this.#keepIdleBytes();
      // Those who wait look when the bound is kept: what is dropped here is nothing that they were woken for.
      for (const ring of changes.keys()) ring.bell.ring();
    }, options);
  }

  /** Makes room for one ring more among the idle ones. */
  #dropIdle(): void {
    if (this.#rings.size < KEPT_IDLE) return;
    const idle = this.#idle();
    for (const one of idle.slice(0, Math.max(0, idle.length - KEPT_IDLE + 1))) this.#drop(one);
  }

  /** Lets the idle rings go that were asked for the longest ago, until the others take no more than they may. */
  #keepIdleBytes(): void {
    const { idleBytes = KEPT_IDLE_BYTES } = this.#inputs;
    // The sum is at least that of the idle ones.
    if (this.#bytes <= idleBytes) return;
    const idle = this.#idle();
    let bytes = idle.reduce((sum, [, ring]) => sum + ring.bytes, 0);
    for (const one of idle) {
      if (bytes <= idleBytes) return;
      bytes -= one[1].bytes;
      this.#drop(one);
    }
  }

  /** The rings without a waiting reader, the one with the oldest request first. */
  #idle(): readonly (readonly [string, Ring])[] {
    return [...this.#rings].filter(([, { bell }]) => !bell.isAwaited);
  }

  #drop([name, ring]: readonly [string, Ring]): void {
    this.#rings.delete(name);
    this.#bytes -= ring.bytes;
    if (ring.stack !== undefined) this.#byStack.delete(keyOf(ring.stack));
  }
}

function addTurn(ring: Ring, turn: ResourceTurn): void {
  const { turns } = ring;
  turns.push(turn);
  ring.objects += sizeOf(turn);
  ring.bytes += bytesOf(turn);
  while (turns.length > KEPT_TURNS || (ring.objects > KEPT_OBJECTS && turns.length > 0)) {
    const gone = turns.shift();
    if (gone === undefined) break;
    ring.base = gone.revision;
    ring.objects -= sizeOf(gone);
    ring.bytes -= bytesOf(gone);
  }
}

function sizeOf({ set, deleted }: ResourceTurn): number {
  return set.length + deleted.length;
}

function bytesOf({ set, deleted }: ResourceTurn): number {
  let bytes = 0;
  for (const some of [set, deleted]) {
    for (const { resource } of some) {
      const characters = resource.key.length + resource.address.length;
      bytes += OBJECT_BYTES + BYTES_OF_CHARACTER * characters;
    }
  }
  return bytes;
}

/** As objects name their stack: by its id. */
function keyOf({ account, project, id }: StackFact): string {
  return `${account}/${project}/${id}`;
}
