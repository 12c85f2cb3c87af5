import type { OutputOf } from "../context.ts";
import { KrtError } from "../errors.ts";
import { DIRTY, type Entry, SUSPENDED } from "./entry.ts";
import { LazyMap } from "./lazy-map.ts";
import type { AnyNode } from "./node.ts";
import type { Row } from "./row.ts";
import { SingleNode } from "./single-node.ts";

/** Number of steps between two checks of the clock, in sliced turns. */
const STEPS_PER_CLOCK = 8;

/** How many keys of a circle a message names. */
const NAMED = 20;

/**
 * The place of one input key among the others that read its output, or that it reads.
 *
 * - `reads` are what the last run read, in order, each once; `readers` is the other end of the same.
 * - `pending`: something it reads, directly or through others, is dirty, so that its output is not final.
 * - `circular`: its last run was given up because it would have waited for itself.
 */
class Place<O> {
  readonly key: string;
  /** Absent where there is no such input; readers wait for it. */
  entry: Entry | undefined = undefined;
  /** What readers get. Not that of the row, which is another input's where both yield its key. */
  output: O | undefined = undefined;
  reads: readonly Place<O>[] = [];
  readonly readers = new Set<Place<O>>();
  pending = false;
  circular = false;
  /** Where it is on the way of evaluation, or -1. */
  depth = -1;
  /** The next of `reads` to look at, while it is on the way and not dirty. */
  cursor = 0;

  constructor(key: string) {
    this.key = key;
  }

  get dirty(): boolean {
    return this.entry !== undefined && (this.entry.state & DIRTY) !== 0;
  }

  get final(): boolean {
    return !this.pending && !this.dirty;
  }
}

/**
 * A derivation whose runs may read outputs of other inputs of the same derivation.
 *
 * A run reads an output only when it is final in this turn. Otherwise it is given up, what it asked for is brought up to date
 * first, and it runs again; the way from the first to the last of those that wait is `#way`, not the stack of the engine, so that
 * chains may be long and a turn may pause on it.
 *
 * Invariants:
 * - When an entry becomes dirty, everything that reads it, directly or through others, is `pending` until the end of the turn, or
 *   until it is found that nothing it reads changed. So nothing runs before what it reads is final, and each at most once.
 * - `output` of a place is what the last completed run of its input yielded, whichever input owns the row with that key: which one
 *   does depends on their order, and one that loses its row did not change.
 * - `#way[i + 1]` is what `#way[i]` waits for: its run asked for it, or, where it is only pending, its last run did, and everything
 *   that run asked for before is as it was. So what stands on the way and is asked for again waits for itself.
 * - Dirty entries are in the list of the derivation, those on the way too: the way can be begun anew at any time.
 */
export class RecursiveNode<I, O> extends SingleNode<I, O> {
  #places = new LazyMap<string, Place<O>>();
  readonly #pending: Place<O>[] = [];
  readonly #way: Place<O>[] = [];
  /** What the run on the stack read, in order. */
  #reads = new Set<Place<O>>();
  /** What the run on the stack, or the last one, was given up for. */
  #awaited: Place<O> | undefined;
  /** Members of a circle that are being given up. */
  #failing: ReadonlySet<Place<O>> = new Set();
  /** While a result is taken in, an output that is removed makes room for another. */
  #applying = false;

  readonly #outputOf: OutputOf<O> = (key) => this.#read(key);

  protected override given(): unknown {
    return this.#outputOf;
  }

  // ---- reading, within a run ----

  #read(key: string): O | undefined {
    const { tracker } = this.graph;
    if ((tracker.entry?.node as unknown) !== this) {
      throw new KrtError("KRT_CONTEXT", "an output was asked for outside of a run");
    }
    if (tracker.isDry) return this.#places.get(key)?.output;
    // A run that was given up stays so, though the transformation caught the error.
    if (tracker.abandoned !== undefined) tracker.giveUp();
    const place = this.#placeOf(key);
    this.#reads.add(place);
    if (place.final && place.depth < 0) return place.output;
    this.#awaited = place;
    return tracker.giveUp();
  }

  #placeOf(key: string): Place<O> {
    let place = this.#places.get(key);
    if (place === undefined) this.#places.set(key, (place = new Place(key)));
    return place;
  }

  // ---- what becomes dirty ----

  override markDirty(entry: Entry, source: AnyNode | undefined, key: string | undefined): void {
    super.markDirty(entry, source, key);
    const place = this.#placeOf(entry.input.key);
    place.entry = entry;
    const next = [place];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      for (const reader of at.readers) {
        if (reader.pending) continue;
        reader.pending = true;
        this.#pending.push(reader);
        next.push(reader);
      }
    }
  }

  override endEntry(entry: Entry): void {
    super.endEntry(entry);
    const place = this.#placeOf(entry.input.key);
    place.entry = undefined;
    place.pending = false;
    this.#reread(place, []);
    this.#recovered(place);
    this.#forget(place);
  }

  /** Readers are marked by the key of the input that changed. */
  #changed(entry: Entry): void {
    const { key } = entry.input;
    for (const reader of this.#placeOf(key).readers) {
      if (!this.#failing.has(reader)) reader.entry?.mark(this, key);
    }
  }

  protected override apply(entry: Entry, result: O | undefined | null): boolean {
    const place = this.#placeOf(entry.input.key);
    const owned = entry.output as Row<O> | undefined;
    const wasOwner = owned?.owner === entry;
    this.#applying = true;
    let changed: boolean;
    try {
      changed = super.apply(entry, result);
    } catch (error) {
      if (entry.output === undefined) this.#yields(place, undefined);
      throw error;
    } finally {
      this.#applying = false;
    }
    // An input that yields again what another one took the row of has not changed.
    if (changed && (wasOwner || !this.#isYielded(place, result))) {
      this.#yields(place, result ?? undefined);
    }
    return changed;
  }

  protected override removeOutput(entry: Entry): void {
    super.removeOutput(entry);
    if (!this.#applying) this.#yields(this.#placeOf(entry.input.key), undefined);
  }

  #isYielded({ output }: Place<O>, result: O | undefined | null): boolean {
    if (output === undefined || result === undefined || result === null) return false;
    return this.kind.key(output) === this.kind.key(result) && this.comparer.equal(output, result);
  }

  #yields(place: Place<O>, output: O | undefined): void {
    const had = place.output;
    place.output = output;
    if ((had !== undefined || output !== undefined) && place.entry !== undefined) {
      this.#changed(place.entry);
    }
  }

  // ---- the turn ----

  protected override compute(): boolean {
    if (!super.compute()) return false;
    for (const place of this.#pending) place.pending = false;
    this.#pending.length = 0;
    return true;
  }

  protected override runDirty(): boolean {
    const { level, graph } = this;
    for (let steps = 1; ; steps++) {
      if (this.#way.length === 0) {
        const first = this.firstDirty;
        if (first === undefined) return true;
        this.#enter(this.#placeOf(first.input.key));
      }
      this.#step(this.#way.at(-1) as Place<O>);
      if (this.level !== level && graph.turn.queue.hasUpTo(this.level - 1)) {
        // Others are to be processed before, and may make more of these dirty.
        this.#leaveAll();
        return false;
      }
      if (steps % STEPS_PER_CLOCK === 0 && graph.turn.outOfTime()) return false;
    }
  }

  #enter(place: Place<O>): void {
    place.depth = this.#way.length;
    place.cursor = 0;
    this.#way.push(place);
  }

  #leave(place: Place<O>): void {
    this.#way.pop();
    place.depth = -1;
    place.pending = false;
  }

  #leaveAll(): void {
    for (const place of this.#way) place.depth = -1;
    this.#way.length = 0;
  }

  /** Brings the last place of the way one step further: a run, or a look at what it reads. */
  #step(place: Place<O>): void {
    if (place.dirty) {
      this.#runAt(place);
      return;
    }
    // Not dirty: what it read before the one at the cursor is as it was, so it would read that one again.
    while (place.cursor < place.reads.length) {
      const read = place.reads[place.cursor] as Place<O>;
      if (!read.final || read.depth >= 0) {
        this.#await(read);
        return;
      }
      place.cursor++;
    }
    this.#leave(place);
  }

  #await(place: Place<O>): void {
    if (place.depth >= 0) this.#giveUp(place.depth);
    else this.#enter(place);
  }

  #runAt(place: Place<O>): void {
    const entry = place.entry as Entry;
    this.#reads = new Set();
    this.#awaited = undefined;
    this.run(entry);
    this.#reread(place, [...this.#reads]);
    if (this.#awaited !== undefined) {
      this.#await(this.#awaited);
    } else if (!place.dirty) {
      this.#leave(place);
      this.#recovered(place);
    }
  }

  protected override postpone(entry: Entry): void {
    entry.state |= DIRTY;
  }

  #reread(place: Place<O>, reads: readonly Place<O>[]): void {
    const before = place.reads;
    place.reads = reads;
    const now = new Set(reads);
    for (const read of now) read.readers.add(place);
    for (const read of before) {
      if (now.has(read)) continue;
      read.readers.delete(place);
      this.#forget(read);
    }
  }

  #forget(place: Place<O>): void {
    if (place.entry === undefined && place.readers.size === 0) this.#places.delete(place.key);
  }

  // ---- circles ----

  /** Everything on the way from `from` on waits for itself: all of it fails, whichever came first. */
  #giveUp(from: number): void {
    const members = this.#way.splice(from);
    const path = pathOf(members);
    const message = `inputs depend on each other: ${textOf(path)}`;
    this.#failing = new Set(members);
    for (const place of members) {
      // Of a run that was not made again, what it would have read up to the circle is known.
      if (!place.dirty) this.#reread(place, place.reads.slice(0, place.cursor + 1));
    }
    for (const { entry } of members as readonly (Place<O> & { readonly entry: Entry })[]) {
      if ((entry.state & SUSPENDED) !== 0) this.unsuspend(entry);
      this.fail(entry, new KrtError("KRT_CYCLE", message, { details: { path } }));
      // What it was would depend on what happened before.
      this.removeOutput(entry);
    }
    for (const place of members) {
      // An output key that one member let go had another one yield it again, which fails as well.
      (place.entry as Entry).state &= ~DIRTY;
      place.depth = -1;
      place.pending = false;
      place.circular = true;
    }
    for (const place of members) this.#retryCircular(place);
    this.#failing = new Set();
  }

  /** A place whose run was completed is on no circle: others that waited for it need not wait for themselves any more. */
  #recovered(place: Place<O>): void {
    if (!place.circular) return;
    place.circular = false;
    this.#retryCircular(place);
  }

  #retryCircular(place: Place<O>): void {
    for (const reader of place.readers) {
      if (reader.circular && !this.#failing.has(reader)) reader.entry?.mark(this, place.key);
    }
  }

  // ---- inspection and end ----

  override ownReadsOf(entry: Entry): readonly string[] {
    return this.#places.get(entry.input.key)?.reads.map(({ key }) => key) ?? [];
  }

  override ownReadersOf(input: string): readonly Entry[] {
    return Array.from(this.#places.get(input)?.readers ?? [], ({ entry }) => entry).filter(
      (entry) => entry !== undefined,
    );
  }

  protected override release(): void {
    super.release();
    this.#leaveAll();
    this.#pending.length = 0;
    this.#places = new LazyMap();
  }
}

/** The whole path is in the details of each error. */
function textOf(path: readonly string[]): string {
  const left = path.length - NAMED;
  if (left <= 0) return path.join(" -> ");
  return [...path.slice(0, NAMED - 1), `(${left} more)`, path.at(-1)].join(" -> ");
}

/** The keys along a circle, beginning with the first in their order, so that a circle has one text. */
function pathOf(members: readonly Place<unknown>[]): string[] {
  const keys = members.map(({ key }) => key);
  const at = keys.reduce((first, key, i) => (key < (keys[first] as string) ? i : first), 0);
  const turned = [...keys.slice(at), ...keys.slice(0, at)];
  return [...turned, turned[0] as string];
}
