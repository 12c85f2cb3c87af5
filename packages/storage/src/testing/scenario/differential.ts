import assert from "node:assert/strict";
import { createMemoryStorage } from "../../engine/memory.ts";
import { StorageError } from "../../errors.ts";
import { resourceKey } from "../../key.ts";
import type { Resource, ResourceId, Tenancy } from "../../resource.ts";
import type { BatchOperation, Guard, StorageBackend, Watch } from "../../types.ts";
import { eventually, nextEvent } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { createRandom, type Random } from "../random.ts";
import { runSeeds } from "../run-scale.ts";
import { A1, A2, B1, BILLING, EVERYWHERE, HOME, payload, sample } from "../samples.ts";

// The same calls, one after the other, on the engine and on the memory engine: outcomes, lists and
// watch transcripts have to be equal. Versions are opaque, so they are compared by the order in which
// they first appeared.

const TENANCIES = [HOME, BILLING];
const NAMES = ["a", "ab", "z🐘"];

/** One of the two stores, with its versions by number. */
class Side {
  readonly storage: StorageBackend;
  readonly #versions: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** Last version per key that was handed out. */
  readonly #latest = new Map<string, string>();
  watch: Watch | undefined;

  constructor(storage: StorageBackend) {
    this.storage = storage;
  }

  /** The version that a choice means for a key; on both sides that of the same moment. */
  version(choice: VersionChoice, id: ResourceId): string {
    if (choice === "none") return "";
    if (choice === "never") return "never-given";
    if (choice === "latest") return this.#latest.get(resourceKey(id)) ?? "";
    return this.#versions[choice] ?? "";
  }

  /** Notes that an operation succeeded; a deletion leaves nothing to write over. */
  note(operation: BatchOperation): void {
    if (operation.kind === "write") return;
    const key = resourceKey(operation.id);
    if (this.#latest.get(key) === operation.version) this.#latest.delete(key);
  }

  /** The number of a version. */
  number(version: string): number {
    const known = this.#numbers.get(version);
    if (known !== undefined) return known;
    this.#versions.push(version);
    this.#numbers.set(version, this.#versions.length);
    return this.#versions.length;
  }

  /** A resource in a form that is equal on both sides. */
  describe(resource: Resource): string {
    const { version, data, ...rest } = resource;
    this.#latest.set(resourceKey(resource.id), version);
    const bytes = data && Buffer.from(data.value).toString("hex");
    return JSON.stringify([rest, bytes, this.number(version)]);
  }
}

/** Which version a call gives: none, one that never was, that of the key, or an earlier one. */
type VersionChoice = "none" | "never" | "latest" | number;

/** A step that can be taken on either side. */
interface Call {
  readonly run: (side: Side) => Promise<unknown>;
  /** Whether it reads eventually, so that the right answer may take a while. */
  readonly eventual: boolean;
}

/** Engines against the reference engine. */
export const DIFFERENTIAL_SCENARIOS: ScenarioGroup = {
  title: "random calls",
  scenarios: [
    {
      title: "have the outcomes that they have on the memory engine",
      run: async ({ storage, capabilities }) => {
        for (const seed of runSeeds(1)) {
          await using oracle = createMemoryStorage();
          const sides = [new Side(storage), new Side(oracle)] as const;
          await clear(storage);
          const random = createRandom(seed);
          for (const side of sides) side.watch = await side.storage.watchList(A1, EVERYWHERE, "");
          const marker = { ...HOME, namespace: `end-${seed}` };
          for (let step = 0; step < 300; step += 1) {
            const call = randomCall(random, capabilities.guards > 0, capabilities.batch > 0);
            const expected = await outcome(sides[1], call);
            const agree = async (): Promise<void> => {
              const actual = await outcome(sides[0], call);
              assert.deepEqual(actual, expected, `seed ${seed}, step ${step}`);
            };
            await (call.eventual ? eventually(agree) : agree());
          }
          const transcripts = [];
          for (const side of sides) {
            await side.storage.writeCAS(sample(A1, marker, "end"));
            transcripts.push(await transcript(side));
            side.watch?.close();
          }
          assert.deepEqual(transcripts[0], transcripts[1], `seed ${seed}`);
          // A run in which next to nothing succeeds would prove nothing; the usual ones have 30 to 60 commits.
          assert.ok((transcripts[0]?.length ?? 0) > 10, `seed ${seed}: too few commits`);
        }
      },
    },
  ],
};

async function clear(storage: StorageBackend): Promise<void> {
  for (const type of [A1, B1]) {
    for (const { id, version } of await storage.list("eventual", type, EVERYWHERE, "")) {
      await storage.deleteCAS(id, version);
    }
  }
}

async function outcome(side: Side, call: Call): Promise<unknown> {
  try {
    return await call.run(side);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    return { code: error.code, index: error.details.index };
  }
}

async function transcript(side: Side): Promise<readonly string[]> {
  const events: string[] = [];
  for (;;) {
    const event = await nextEvent(side.watch as Watch);
    assert.ok("resource" in event);
    events.push(`${event.operation} ${side.describe(event.resource)}`);
    if (event.resource.id.name === "end") return events;
  }
}

function randomCall(random: Random, guarded: boolean, batched: boolean): Call {
  const dice = random.below(100);
  if (dice < 45) {
    const operation = randomOperation(random);
    const guards = guarded && random.below(4) === 0 ? [randomGuard(random)] : [];
    return once((side) =>
      apply(
        side,
        operation(side),
        guards.map((guard) => guard(side)),
      ),
    );
  }
  if (dice < 60 && batched) {
    const operations = Array.from({ length: 1 + random.below(4) }, () => randomOperation(random));
    const guards = guarded && random.below(4) === 0 ? [randomGuard(random)] : [];
    return once(async (side) => {
      const steps = operations.map((operation) => operation(side));
      const results = await side.storage.batch(steps, {
        guards: guards.map((guard) => guard(side)),
      });
      for (const step of steps) side.note(step);
      return results.map((stored) => stored && side.describe(stored));
    });
  }
  if (dice < 75) {
    const id = randomId(random, true);
    return once(async (side) => side.describe(await side.storage.read("strong", id)));
  }
  if (dice < 85) {
    const id = randomId(random, false);
    return {
      run: async (side) => describeAll(side, await side.storage.listByOwner(id)),
      eventual: true,
    };
  }
  const tenancy = randomPattern(random);
  const prefix = random.pick(["", "a", "ab", "z"]);
  const type = random.pick([A1, B1]);
  return {
    run: async (side) =>
      describeAll(side, await side.storage.list("eventual", type, tenancy, prefix)),
    eventual: true,
  };
}

function once(run: Call["run"]): Call {
  return { run, eventual: false };
}

function describeAll(side: Side, resources: readonly Resource[]): readonly string[] {
  return resources
    .toSorted((left, right) => (resourceKey(left.id) < resourceKey(right.id) ? -1 : 1))
    .map((resource) => side.describe(resource));
}

async function apply(
  side: Side,
  operation: BatchOperation,
  guards: readonly Guard[],
): Promise<unknown> {
  if (operation.kind === "write") {
    return side.describe(await side.storage.writeCAS(operation.resource, { guards }));
  }
  await side.storage.deleteCAS(operation.id, operation.version, { guards });
  side.note(operation);
  return undefined;
}

function randomOperation(random: Random): (side: Side) => BatchOperation {
  const id = randomId(random, false);
  const version = randomVersion(random);
  if (random.below(4) === 0) {
    return (side) => ({ kind: "delete", id, version: side.version(version, id) });
  }
  const owned = random.below(3) === 0;
  const owner = randomId(random, false);
  const data = payload(String(random.below(1_000)));
  return (side) => ({
    kind: "write",
    resource: {
      ...sample(id.type, id.tenancy, id.name, { uid: id.uid, data }),
      ...(owned ? { owner } : {}),
      version: side.version(version, id),
    },
  });
}

function randomGuard(random: Random): (side: Side) => Guard {
  const id = randomId(random, true);
  const version = randomVersion(random);
  return (side) => ({ id, version: side.version(version, id) });
}

/** Mostly one that can succeed. */
function randomVersion(random: Random): VersionChoice {
  const dice = random.below(10);
  if (dice < 3) return "none";
  if (dice < 8) return "latest";
  return dice === 8 ? random.below(60) : "never";
}

function randomId(random: Random, anyUid: boolean): ResourceId {
  return {
    uid: random.pick(anyUid ? ["", "", "u", "v"] : ["u", "u", "u", "u", "u", "v"]),
    name: random.pick(NAMES),
    type: random.pick([A1, A1, A2, B1]),
    tenancy: random.pick(TENANCIES),
  };
}

function randomPattern(random: Random): Tenancy {
  const base = random.pick(TENANCIES);
  const wild = (value: string): string => (random.below(3) === 0 ? "*" : value);
  return {
    partition: wild(base.partition),
    peerName: wild(base.peerName),
    namespace: wild(base.namespace),
  };
}
