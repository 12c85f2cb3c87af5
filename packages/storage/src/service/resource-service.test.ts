import { createManualClock } from "@stackwright/base/testing";
import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { StorageError } from "../errors.ts";
import type { Resource, ResourceData } from "../resource.ts";
import {
  assertCode,
  assertSame,
  nextDelete,
  nextEvent,
  nextUpsert,
} from "../testing/assertions.ts";
import { DelegatingStorage } from "../testing/delegate.ts";
import { createRandom } from "../testing/random.ts";
import type { StorageBackend } from "../types.ts";
import { isUlid } from "../ulid.ts";
import type { StatusInput } from "./inputs.ts";
import { createResourceService, type ResourceServiceOptions } from "./resource-service.ts";
import type { TypeRegistration } from "./type-registry.ts";

const V1 = { group: "demo", groupVersion: "v1", kind: "Artist" };
const V2 = { ...V1, groupVersion: "v2" };
const ALBUM = { ...V1, kind: "Album" };
const LABEL = { ...V1, kind: "Label" };
const PLANET = { ...V1, kind: "Planet" };
const OBSERVED = "01HV0000000000000000000000";

const text = (value: string): ResourceData => ({
  typeUrl: "demo/Text",
  value: new TextEncoder().encode(value),
});
const read = (resource: Resource): string => new TextDecoder().decode(resource.data?.value);

const types: readonly TypeRegistration[] = [
  {
    type: V1,
    typeUrl: "demo/Text",
    mutate: (resource) =>
      resource.data?.value.length === 0 ? { ...resource, data: text("unnamed") } : resource,
    validate: (resource) => (read(resource).includes("!") ? "must not shout" : undefined),
  },
  {
    type: V2,
    converters: [
      { from: "v1", to: "v2", convert: (data) => text(`${decode(data)} (v2)`) },
      { from: "v2", to: "v1", convert: (data) => text(decode(data).replace(" (v2)", "")) },
    ],
  },
  { type: ALBUM },
  { type: { ...ALBUM, groupVersion: "v2" } },
  { type: LABEL, scope: "partition" },
  { type: PLANET, scope: "cluster" },
];

function decode(data: ResourceData): string {
  return new TextDecoder().decode(data.value);
}

function setUp(options: Partial<ResourceServiceOptions> = {}) {
  const storage = options.storage ?? createMemoryStorage();
  const clock = createManualClock();
  const service = createResourceService({ types, clock, ...options, storage });
  return { storage, service, clock };
}

const named = (name: string, type = V1) => ({ name, type });

describe("write", () => {
  test("creates with a uid, a generation and a tenancy of its own choice", async () => {
    const { service } = setUp();
    const id = { ...named("cher"), uid: "chosen-by-the-caller" };
    const stored = await service.write({ id, data: text("Cher"), metadata: { key: "value" } });
    expect(isUlid(stored.id.uid)).toBe(true);
    expect(isUlid(stored.generation)).toBe(true);
    expect(stored.id.tenancy).toEqual({
      partition: "default",
      peerName: "local",
      namespace: "default",
    });
    assertSame(await service.read(named("cher")), stored);
  });

  test("gives every write another version and generation and keeps the uid", async () => {
    const { service } = setUp();
    const first = await service.write({ id: named("cher"), data: text("a") });
    const second = await service.write({ id: named("cher"), data: text("a") });
    expect(second.id.uid).toBe(first.id.uid);
    expect(second.generation > first.generation).toBe(true);
    expect(second.version).not.toBe(first.version);
  });

  test("with a version replaces exactly that version, in one attempt", async () => {
    const { service } = setUp();
    const first = await service.write({ id: named("cher"), data: text("a") });
    const input = { id: named("cher"), data: text("b"), version: first.version };
    await service.write(input);
    await assertCode(service.write(input), "STORAGE_CAS_FAILURE");
    const never = service.write({ id: named("never"), data: text("b"), version: "7" });
    await assertCode(never, "STORAGE_CAS_FAILURE");
  });

  test("refuses the uid of another lifetime", async () => {
    const { service } = setUp();
    await service.write({ id: named("cher"), data: text("a") });
    const other = { ...named("cher"), uid: "another" };
    await assertCode(service.write({ id: other, data: text("b") }), "STORAGE_WRONG_UID");
  });

  test("runs the hooks of the type: defaults first, then validation", async () => {
    const { service } = setUp();
    const stored = await service.write({ id: named("cher"), data: text("") });
    expect(read(stored)).toBe("unnamed");
    const shouting = service.write({ id: named("cher"), data: text("CHER!") });
    await assertCode(shouting, "STORAGE_INVALID_ARGUMENT");
    expect(read(service.validate({ id: named("cher"), data: text("") }))).toBe("unnamed");
  });

  test("refuses what the type does not allow", async () => {
    const { service } = setUp();
    const wrong = [
      service.write({ id: named("x", { ...V1, kind: "Unknown" }) }),
      service.write({ id: named("x", { ...V1, groupVersion: "v3" }) }),
      service.write({ id: named("x"), data: { typeUrl: "demo/Other", value: new Uint8Array() } }),
      service.write({ id: named("x") }),
      service.write({ id: { ...named("x", LABEL), tenancy: { namespace: "default" } } }),
      service.write({ id: { ...named("x", PLANET), tenancy: { partition: "default" } } }),
      service.write({ id: named("x".repeat(500)), data: text("a") }),
    ];
    await Promise.all(wrong.map((call) => assertCode(call, "STORAGE_INVALID_ARGUMENT")));
  });

  test("gives resources the tenancy that their scope has", async () => {
    const { service } = setUp();
    const label = await service.write({ id: named("motown", LABEL) });
    expect(label.id.tenancy).toEqual({ partition: "default", peerName: "local", namespace: "" });
    const planet = await service.write({ id: named("mars", PLANET) });
    expect(planet.id.tenancy).toEqual({ partition: "", peerName: "local", namespace: "" });
    const everywhere = { partition: "*", namespace: "*" };
    const found = await service.list({ type: PLANET, tenancy: everywhere });
    expect(found).toHaveLength(1);
  });

  test("sets an owner on creation, finds its uid, and keeps it", async () => {
    const { service } = setUp();
    const missing = service.write({ id: named("album", ALBUM), owner: named("nobody") });
    await assertCode(missing, "STORAGE_INVALID_ARGUMENT");
    const owner = await service.write({ id: named("cher"), data: text("a") });
    const album = await service.write({ id: named("album", ALBUM), owner: named("cher") });
    expect(album.owner).toEqual(owner.id);
    const kept = await service.write({ id: named("album", ALBUM) });
    expect(kept.owner).toEqual(owner.id);
    await service.write({ id: named("album", ALBUM), owner: named("cher") });
    const other = { id: named("album", ALBUM), owner: named("prince") };
    await assertCode(service.write(other), "STORAGE_INVALID_ARGUMENT");
    await service.write({ id: named("free", ALBUM) });
    const late = { id: named("free", ALBUM), owner: named("cher") };
    await assertCode(service.write(late), "STORAGE_INVALID_ARGUMENT");
    expect(await service.listByOwner(owner.id)).toEqual(
      [kept].map((one) => expect.objectContaining({ id: one.id })),
    );
    await assertCode(service.listByOwner(named("cher")), "STORAGE_INVALID_ARGUMENT");
  });

  test("does not let a stale read pass as the version that the caller gave", async () => {
    const stale = new StaleReads(createMemoryStorage());
    const { service } = setUp({ storage: stale });
    const first = await service.write({ id: named("cher"), data: text("a") });
    stale.shown = first;
    const second = await service.writeStatus(statusFor(first, "one"));
    const write = service.write({ id: named("cher"), data: text("b"), version: second.version });
    await assertCode(write, "STORAGE_CAS_FAILURE");
    stale.shown = undefined;
    const kept = await service.read(named("cher"));
    expect(Object.keys(kept.status)).toEqual(["one"]);
  });
});

describe("writes without a version", () => {
  test("succeed against seven others in at least 99 of 100 cases", async () => {
    const seeded = createRandom(1);
    const { service, clock } = setUp({ random: () => seeded.next() });
    await service.write({ id: named("cher"), data: text("0") });
    let failures = 0;
    for (let round = 0; round < 100; round += 1) {
      const writing = Promise.allSettled(
        Array.from({ length: 8 }, (_, writer) =>
          service.write({ id: named("cher"), data: text(`${round}/${writer}`) }),
        ),
      );
      await clock.advance(10_000);
      const outcomes = await writing;
      failures += outcomes.filter((outcome) => outcome.status === "rejected").length;
    }
    expect(failures).toBeLessThanOrEqual(8);
  });

  test("pause longer from attempt to attempt, and give up after five", async () => {
    const always = new AlwaysConflicts(createMemoryStorage());
    const { service, clock } = setUp({ storage: always, random: () => 0 });
    const writing = assertCode(
      service.write({ id: named("cher"), data: text("a") }),
      "STORAGE_CAS_FAILURE",
    );
    for (const [pause, attempts] of [
      [0, 1],
      [50, 2],
      [100, 3],
      [200, 4],
      [400, 5],
      [10_000, 5],
    ] as const) {
      await clock.advance(pause);
      expect(always.attempts).toBe(attempts);
    }
    await writing;
  });

  test("update repeats the change on what is stored by then", async () => {
    const { service } = setUp({
      retry: { initialDelayMs: 0, maxDelayMs: 0 },
      clock: unusedClock(),
    });
    await service.write({ id: named("count"), data: text("0") });
    await Promise.all(
      Array.from({ length: 4 }, () =>
        service.update(named("count"), (stored) => ({
          id: stored.id,
          data: text(String(Number(read(stored)) + 1)),
        })),
      ),
    );
    expect(read(await service.read(named("count")))).toBe("4");
    const same = await service.update(named("count"), () => undefined);
    expect(read(same)).toBe("4");
  });
});

describe("writeStatus", () => {
  test("changes the version, not the generation, and no other controller's status", async () => {
    const { service, clock } = setUp();
    const stored = await service.write({ id: named("cher"), data: text("a") });
    const one = await service.writeStatus(statusFor(stored, "one"));
    expect(one.generation).toBe(stored.generation);
    expect(one.version).not.toBe(stored.version);
    const both = await service.writeStatus(statusFor(stored, "two"));
    expect(Object.keys(both.status)).toEqual(["one", "two"]);
    expect(both.status.two?.updatedAt).toEqual({
      seconds: Math.floor(clock.wallMs() / 1_000),
      nanos: 0,
    });
    const written = await service.write({ id: named("cher"), data: text("b") });
    expect(written.generation).not.toBe(stored.generation);
    expect(written.status).toEqual(both.status);
  });

  test("is the only way to write a status", async () => {
    const { service } = setUp();
    const status = { one: { observedGeneration: OBSERVED, conditions: [] } };
    const creating = service.write({ id: named("cher"), data: text("a"), status });
    await assertCode(creating, "STORAGE_INVALID_ARGUMENT");
    const stored = await service.write({ id: named("cher"), data: text("a") });
    const updating = service.write({ id: named("cher"), data: text("a"), status });
    await assertCode(updating, "STORAGE_INVALID_ARGUMENT");
    const withStatus = await service.writeStatus(statusFor(stored, "one"));
    await service.write({ id: named("cher"), data: text("c"), status: withStatus.status });
  });

  test("refuses incomplete input", async () => {
    const { service } = setUp();
    const stored = await service.write({ id: named("cher"), data: text("a") });
    const good = statusFor(stored, "one");
    const updatedAt = { seconds: 0, nanos: 0 };
    const bad: StatusInput[] = [
      { ...good, id: named("cher") },
      { ...good, key: "" },
      { ...good, status: { observedGeneration: "1", conditions: [] } },
      { ...good, status: { ...good.status, updatedAt } as StatusInput["status"] },
      {
        ...good,
        status: {
          observedGeneration: OBSERVED,
          conditions: [{ type: "", state: "true", reason: "", message: "" }],
        },
      },
    ];
    const calls = bad.map((input) =>
      assertCode(service.writeStatus(input), "STORAGE_INVALID_ARGUMENT"),
    );
    await Promise.all(calls);
    const other = { ...good, id: { ...stored.id, uid: "another" } };
    await assertCode(service.writeStatus(other), "STORAGE_NOT_FOUND");
    const stale = { ...good, version: "0" };
    await assertCode(service.writeStatus(stale), "STORAGE_CAS_FAILURE");
  });
});

describe("group versions", () => {
  test("are converted in reads, lists and watches where there is a converter", async () => {
    const { service } = setUp();
    using watch = await service.watch({ type: V2 });
    const stored = await service.write({ id: named("cher"), data: text("Cher") });
    const converted = await service.read(named("cher", V2));
    expect(read(converted)).toBe("Cher (v2)");
    expect(converted.id.type).toEqual(V2);
    expect(converted.version).toBe(stored.version);
    expect((await service.list({ type: V2 })).map(read)).toEqual(["Cher (v2)"]);
    expect(read(await nextUpsert(watch))).toBe("Cher (v2)");
    // Written in the newer form over the older one, and read in the older.
    await service.write({ id: named("cher", V2), data: text("Cher B (v2)") });
    expect(read(await service.read(named("cher")))).toBe("Cher B");
  });

  test("without a converter are an error in reads and left out of lists and watches", async () => {
    const { service, storage } = setUp();
    const second = { ...ALBUM, groupVersion: "v2" };
    using one = await service.watch({ type: ALBUM }, { endOfSnapshot: true });
    using all = await storage.watchList(
      ALBUM,
      { partition: "*", peerName: "*", namespace: "*" },
      "",
    );
    expect((await nextEvent(one)).operation).toBe("endOfSnapshot");
    await service.write({ id: named("new", second) });
    const old = await service.write({ id: named("old", ALBUM) });
    await assertCode(service.read(named("new", ALBUM)), "STORAGE_GROUP_VERSION_MISMATCH");
    expect((await service.list({ type: ALBUM })).map((found) => found.id.name)).toEqual(["old"]);
    assertSame(await nextUpsert(one), old);
    expect((await nextUpsert(all)).id.type).toEqual(second);
    assertSame(await nextUpsert(all), old);
  });
});

describe("registration", () => {
  test("refuses bad names and duplicates", () => {
    const bad = [
      [{ type: { ...V1, group: "Demo" } }],
      [{ type: { ...V1, groupVersion: "1" } }],
      [{ type: { ...V1, kind: "artist" } }],
      [{ type: V1 }, { type: V1 }],
    ];
    for (const registrations of bad) {
      expect(() => setUp({ types: registrations })).toThrow(StorageError);
    }
  });
});

describe("finalizers", () => {
  test("hold a deletion back until the last one is gone", async () => {
    const { service } = setUp();
    const metadata = { finalizers: "one two" };
    const stored = await service.write({ id: named("cher"), data: text("a"), metadata });
    using watch = await service.watch({ type: V1 });
    assertSame(await nextUpsert(watch), stored);
    await service.delete(named("cher"));
    const marked = await nextUpsert(watch);
    expect(marked.metadata.deletionTimestamp).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(marked.metadata.finalizers).toBe("one two");
    assertSame(await service.read(named("cher")), marked);
    // Deleting it again changes nothing.
    await service.delete(named("cher"));

    const { deletionTimestamp } = marked.metadata;
    const stamp = deletionTimestamp ?? "";
    const refused = [
      { data: text("b") },
      { metadata: { finalizers: "one two", deletionTimestamp: "2001-01-01T00:00:00.000Z" } },
      { metadata: { ...metadata, deletionTimestamp: stamp, extra: "x" } },
      { metadata: { finalizers: "one two three", deletionTimestamp: stamp } },
      { metadata: { finalizers: "three", deletionTimestamp: stamp } },
      {},
    ].map((parts) => service.write({ id: named("cher"), data: text("a"), ...parts }));
    await Promise.all(refused.map((call) => assertCode(call, "STORAGE_INVALID_ARGUMENT")));
    const removal = service.write({
      id: named("cher"),
      data: text("a"),
      metadata: {},
      version: marked.version,
    });
    await assertCode(removal, "STORAGE_INVALID_ARGUMENT");

    for (const finalizers of ["two", ""]) {
      await service.write({ id: named("cher"), data: text("a"), metadata: { finalizers } });
      expect((await nextUpsert(watch)).metadata.finalizers).toBe(finalizers);
    }
    await service.delete(named("cher"));
    expect((await nextDelete(watch)).id.name).toBe("cher");
  });

  test("cannot be bypassed by marking a resource oneself", async () => {
    const { service } = setUp();
    const metadata = { deletionTimestamp: "2001-01-01T00:00:00.000Z" };
    const input = { id: named("cher"), data: text("a"), metadata };
    await assertCode(service.write(input), "STORAGE_INVALID_ARGUMENT");
    await service.write({ id: named("cher"), data: text("a") });
    await assertCode(service.write(input), "STORAGE_INVALID_ARGUMENT");
  });
});

function statusFor(resource: Resource, key: string): StatusInput {
  const conditions = [{ type: "ready", state: "true" as const, reason: "", message: "" }];
  return { id: resource.id, key, status: { observedGeneration: OBSERVED, conditions } };
}

/** Retries in real time, where the test is not about pauses. */
function unusedClock(): NonNullable<ResourceServiceOptions["clock"]> {
  const clock = createManualClock();
  return {
    ...clock,
    after: (_, run) => {
      const timer = setTimeout(run, 0);
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  };
}

/** Shows an older state to eventual reads. */
class StaleReads extends DelegatingStorage {
  shown: Resource | undefined;

  override async read(...args: Parameters<StorageBackend["read"]>): Promise<Resource> {
    const [consistency] = args;
    if (consistency === "eventual" && this.shown !== undefined) return this.shown;
    return this.inner.read(...args);
  }
}

class AlwaysConflicts extends DelegatingStorage {
  attempts = 0;

  override writeCAS(): Promise<Resource> {
    this.attempts += 1;
    return Promise.reject(new StorageError("STORAGE_CAS_FAILURE"));
  }
}
