import type { Event, Runtime, StatusOf } from "../../index.ts";
import { Builder, type BuiltNode } from "./build.ts";
import { check, same, sameMaps } from "./check.ts";
import { type Contents, OracleNode } from "./oracle.ts";
import {
  type NodeDesc,
  type Obj,
  objectOf,
  type Program,
  type Step,
  type Write,
} from "./program.ts";
import { textOf } from "./semantics.ts";

/** A reader of events that knows what it was told so far. */
class Follower {
  readonly known = new Map<string, string>();

  /** Takes in one batch: each key at most once, and each event fitting what is known. */
  take(events: readonly Event<Obj>[]): void {
    const keys = new Set<string>();
    for (const event of events) {
      check(!keys.has(event.key), `${event.key} once in a turn`);
      keys.add(event.key);
      const old = event.old === undefined ? undefined : textOf(event.old);
      same(old, this.known.get(event.key), `old of ${event.type}/${event.key}`);
      const type = event.old === undefined ? "add" : event.new === undefined ? "delete" : "update";
      same(event.type, type, "type of an event");
      if (event.new === undefined) this.known.delete(event.key);
      else this.known.set(event.key, textOf(event.new));
    }
  }
}

function textsOf(contents: Contents): Map<string, string> {
  return new Map(Array.from(contents, ([key, object]) => [key, textOf(object)]));
}

function statusObject({ object, status }: StatusOf<Obj, number>): Obj {
  return { ...object, n: status };
}

/** Runs a program in the package and in the oracle, and compares them after each turn. */
export class Lockstep {
  readonly rt: Runtime;
  readonly builder: Builder;
  readonly oracles: OracleNode[] = [];
  readonly #followers: Follower[] = [];
  /** Brings the runtime to rest, and calls back whenever somebody outside could look. */
  readonly #rest: (look: () => void) => void;
  /** What everybody outside saw after the last turn. */
  #before: readonly string[] = [];

  constructor(rt: Runtime, rest: (look: () => void) => void) {
    this.rt = rt;
    this.builder = new Builder(rt);
    this.#rest = rest;
    this.#add({ type: "source", synced: true });
    this.#add({ type: "source", synced: true });
    this.#turn();
  }

  run({ nodes, steps }: Program): void {
    for (const desc of nodes) {
      this.#add(desc);
      this.#turn();
    }
    for (const step of steps) this.#step(step);
    this.#turn();
  }

  #add(desc: NodeDesc): void {
    const size = Math.max(this.oracles.length, 1);
    const refs = referencesOf(desc).map((at) => at % size);
    const node = this.builder.add(desc, refs);
    const oracle = new OracleNode(
      desc,
      refs.map((at) => this.oracles[at] as OracleNode),
    );
    if (desc.type === "nested") {
      for (const [i, ref] of oracle.refs.entries()) oracle.container.set(`m${i}`, ref);
    }
    this.oracles.push(oracle);
    const follower = new Follower();
    this.#followers.push(follower);
    node.objects.subscribeBatch((events) => follower.take(events));
  }

  #step(step: Step): void {
    switch (step.type) {
      case "batch":
        return this.#batch(step.writes, step.how);
      case "create":
        this.#add(step.node);
        return this.#turn();
      case "sync": {
        const [source, oracle] = this.#source(step.source);
        if (oracle.frozen) return;
        source.source?.markSynced();
        oracle.synced = true;
        return this.#turn();
      }
      case "dispose": {
        const at = step.node % this.oracles.length;
        const oracle = this.oracles[at] as OracleNode;
        if (!oracle.synced) return;
        this.builder.nodes[at]?.objects.dispose();
        oracle.frozen = true;
        return this.#turn();
      }
      case "labelIndex":
        this.builder.labelIndex(step.node % this.oracles.length);
        return;
      case "settle":
        return this.#turn();
      default:
        return step satisfies never;
    }
  }

  #batch(writes: readonly Write[], how: "batch" | "single" | "undone"): void {
    if (how === "single") {
      for (const write of writes) {
        this.#write(write, true);
        this.#turn();
      }
    } else if (how === "batch") {
      this.rt.batch(() => {
        for (const write of writes) this.#write(write, false);
      });
      this.#turn();
    } else {
      const undo = () => {
        for (const write of writes) this.#writeBuilt(write, false);
        throw new Error("undone");
      };
      try {
        this.rt.transaction(undo);
        check(false, "the transaction throws");
      } catch (error) {
        same((error as Error).message, "undone", "what the transaction throws");
      }
      this.#turn();
    }
  }

  #source(at: number): [BuiltNode, OracleNode] {
    const sources = this.oracles.filter((oracle) => oracle.desc.type === "source");
    const oracle = sources[at % sources.length] as OracleNode;
    return [this.builder.nodes[this.oracles.indexOf(oracle)] as BuiltNode, oracle];
  }

  #nested(at: number): [BuiltNode, OracleNode, number] | undefined {
    const nested = this.oracles.filter((oracle) => oracle.desc.type === "nested");
    const oracle = nested[at % Math.max(nested.length, 1)];
    if (oracle === undefined || oracle.frozen) return undefined;
    const index = this.oracles.indexOf(oracle);
    return [this.builder.nodes[index] as BuiltNode, oracle, index];
  }

  #write(write: Write, alone: boolean): void {
    this.#writeBuilt(write, alone);
    this.#writeOracle(write, alone);
  }

  #writeBuilt(write: Write, alone: boolean): void {
    if (write.type === "member") {
      const found = this.#nested(write.nested);
      if (found === undefined) return;
      const [{ members }, , index] = found;
      const key = `m${write.replaces % 3}`;
      if (write.replaces % 4 === 3) members?.delete(key);
      else members?.set({ key, at: write.member % index });
      return;
    }
    const [{ source }, oracle] = this.#source(write.source);
    if (source === undefined || oracle.frozen) return;
    switch (write.type) {
      case "set":
        return source.set(objectOf(write.key, write.value));
      case "again": {
        const present = source.get(objectOf(write.key, 0).key);
        if (present !== undefined) source.set({ ...present }, { force: write.force && alone });
        return;
      }
      case "delete":
        return source.delete(objectOf(write.key, 0).key);
      case "deleteWhere":
        return source.deleteWhere((object) => object.n === write.value);
      case "reset":
        return source.reset(write.values.map((value, key) => objectOf(key, value)));
      default:
        return write satisfies never;
    }
  }

  #writeOracle(write: Write, alone: boolean): void {
    if (write.type === "member") {
      const found = this.#nested(write.nested);
      if (found === undefined) return;
      const [, oracle, index] = found;
      const key = `m${write.replaces % 3}`;
      if (write.replaces % 4 === 3) oracle.container.delete(key);
      else oracle.container.set(key, this.oracles[write.member % index] as OracleNode);
      return;
    }
    const [, oracle] = this.#source(write.source);
    if (oracle.frozen) return;
    const { objects } = oracle;
    switch (write.type) {
      case "set": {
        const object = objectOf(write.key, write.value);
        objects.set(object.key, object);
        return;
      }
      case "again": {
        const { key } = objectOf(write.key, 0);
        if (write.force && alone && objects.has(key)) oracle.forced.add(key);
        return;
      }
      case "delete":
        objects.delete(objectOf(write.key, 0).key);
        return;
      case "deleteWhere":
        for (const object of Array.from(objects.values())) {
          if (object.n === write.value) objects.delete(object.key);
        }
        return;
      case "reset":
        objects.clear();
        for (const [key, value] of write.values.entries()) {
          const object = objectOf(key, value);
          objects.set(object.key, object);
        }
        return;
      default:
        return write satisfies never;
    }
  }

  /** Lets both sides finish a turn, and compares everything there is. */
  #turn(): void {
    const seen: (readonly string[])[] = [];
    this.#rest(() => seen.push(this.#look()));
    const after = this.#look();
    this.#checkAtomic(seen, after);
    this.#before = after;
    for (const oracle of this.oracles) oracle.evaluate();
    for (const oracle of this.oracles) oracle.forced.clear();
    for (const [i, oracle] of this.oracles.entries()) this.#compare(i, oracle);
    this.#compareFailures();
  }

  /** All collections as a reader outside sees them, by every way of reading. */
  #look(): readonly string[] {
    return this.builder.nodes.map(({ objects }, i) => {
      const keys = [...objects.keys()].sort();
      const byKey = keys.map((key) => textOf(objects.get(key)));
      const listed = objects.list().map(textOf).sort();
      const grouped = this.builder.lookup(i).map(textOf).sort();
      same(listed.join(), [...byKey].sort().join(), `ways of reading collection ${i}`);
      same(grouped.join(), listed.join(), `index of collection ${i}`);
      same(objects.size, keys.length, `size of collection ${i}`);
      return byKey.join();
    });
  }

  /** Of a turn in slices nobody sees a part: first everything is as before, then as after. */
  #checkAtomic(seen: readonly (readonly string[])[], after: readonly string[]): void {
    const known = this.#before.length;
    const text = (state: readonly string[]) => state.slice(0, known).join("\n");
    const [old, now] = [text(this.#before), text(after)];
    let done = false;
    for (const state of seen) {
      done ||= text(state) !== old;
      same(text(state), done ? now : old, "what is seen during a turn");
    }
  }

  #compareFailures(): void {
    const expected = this.oracles.flatMap((oracle, i) => {
      const { name } = (this.builder.nodes[i] as BuiltNode).objects;
      return oracle.frozen ? [] : oracle.failures().map((input) => `${name} ${input}`);
    });
    const found = this.rt.errors.list().map(({ collection, input }) => `${collection} ${input}`);
    same(found.sort().join(), expected.sort().join(), "inputs that fail");
  }

  #compare(i: number, oracle: OracleNode): void {
    const { objects, status, runs } = this.builder.nodes[i] as BuiltNode;
    const where = `collection ${i} (${oracle.desc.type})`;
    const now = new Map([...objects.keys()].map((key) => [key, objects.get(key) as Obj]));
    const expected = textsOf(oracle.contents);
    sameMaps(textsOf(now), expected, where);
    same(objects.size, oracle.contents.size, `size of ${where}`);
    same(objects.list().length, oracle.contents.size, `list of ${where}`);
    same(objects.synced, oracle.synced, `sync of ${where}`);
    same(runs, oracle.runs, `runs of ${where}`);
    if (!oracle.frozen) {
      sameMaps((this.#followers[i] as Follower).known, expected, `events of ${where}`);
    }
    if (status === undefined) return;
    const statuses = new Map([...status.keys()].map((key) => [key, status.get(key)]));
    const shown = new Map(
      Array.from(statuses, ([key, one]) => [key, statusObject(one as StatusOf<Obj, number>)]),
    );
    sameMaps(textsOf(shown), textsOf(oracle.status), `status of ${where}`);
  }
}

/** The collections a description refers to: the primary, then those it fetches from. */
function referencesOf(desc: NodeDesc): readonly number[] {
  switch (desc.type) {
    case "source":
      return [];
    case "derive":
    case "declared":
    case "many":
    case "status":
      return [desc.of, ...desc.fetches.map((fetch) => fetch.from)];
    case "singleton":
      return desc.fetches.map((fetch) => fetch.from);
    case "join":
    case "nested":
      return desc.members;
    case "view":
    case "ordered":
    case "groups":
    case "sums":
      return [desc.of];
    default:
      return desc satisfies never;
  }
}
