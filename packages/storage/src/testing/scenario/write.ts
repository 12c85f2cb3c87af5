import assert from "node:assert/strict";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSame, nextUpsert, settledList } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, A2, B1, HOME, payload, sample, sampleId } from "../samples.ts";

/** Every field set, with texts and bytes that careless encodings change. */
const FULL: Resource = {
  id: sampleId(A1, HOME, "full"),
  owner: sampleId(B1, HOME, "owner", "o"),
  version: "",
  generation: "01HV0000000000000000000000",
  metadata: { "": "", ключ: "значение", __proto__x: "ordinary", quote: "\"'\\\n" },
  status: {
    "example.test/controller": {
      observedGeneration: "01HV0000000000000000000001",
      conditions: [
        {
          type: "ready",
          state: "false",
          reason: "waiting",
          message: "for the database 🐘",
          resource: { type: B1, tenancy: HOME, name: "database", section: "port" },
        },
        { type: "healthy", state: "true", reason: "", message: "" },
        { type: "other", state: "unknown", reason: "", message: "" },
      ],
      updatedAt: { seconds: 1_700_000_000, nanos: 123_456_789 },
    },
    bare: { observedGeneration: "", conditions: [] },
  },
  data: { typeUrl: "example.test/Unregistered", value: Uint8Array.of(0x00, 0xff, 0x80, 0x0a) },
};

/** Compare-and-swap writes: versions, lifetimes, group versions, fidelity of what is stored. */
export const WRITE_SCENARIOS: ScenarioGroup = {
  title: "writeCAS",
  scenarios: [
    {
      title: "refuses a version for a resource that does not exist",
      run: async ({ storage }) => {
        const input = sample(B1, HOME, "web", { version: "some-version" });
        await assertCode(storage.writeCAS(input), "STORAGE_CAS_FAILURE");
        await assertCode(storage.read("strong", input.id), "STORAGE_NOT_FOUND");
      },
    },
    {
      title: "creates with an empty version and leaves its argument alone",
      run: async ({ storage }) => {
        const input = sample(B1, HOME, "web");
        const stored = await storage.writeCAS(input);
        assert.notEqual(stored.version, "");
        assert.equal(input.version, "");
        assertSame(stored, { ...input, version: stored.version });
      },
    },
    {
      title: "changes the version with every write, also without another content",
      run: async ({ storage }) => {
        const first = await storage.writeCAS(sample(B1, HOME, "web"));
        const second = await storage.writeCAS(first);
        assert.notEqual(second.version, first.version);
        await assertCode(storage.writeCAS({ ...second, version: "" }), "STORAGE_CAS_FAILURE");
        await assertCode(storage.writeCAS(first), "STORAGE_CAS_FAILURE");
        await storage.writeCAS(second);
      },
    },
    {
      title: "judges the uid before the version",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(B1, HOME, "web"));
        const id = (uid: string): Resource["id"] => sampleId(B1, HOME, "web", uid);
        for (const version of ["", stored.version, "some-version"]) {
          for (const uid of ["b", ""]) {
            const other = { ...stored, id: id(uid), version };
            await assertCode(storage.writeCAS(other), "STORAGE_WRONG_UID");
          }
        }
        assertSame(await storage.read("strong", stored.id), stored);
      },
    },
    {
      title: "stores one resource for all group versions",
      run: async ({ storage }) => {
        const first = await storage.writeCAS(sample(A1, HOME, "web"));
        const second = await storage.writeCAS({ ...first, id: sampleId(A2, HOME, "web") });
        assertSame(await storage.read("strong", sampleId(A2, HOME, "web")), second);
        const old = storage.read("strong", sampleId(A1, HOME, "web"));
        await assertCode(old, "STORAGE_GROUP_VERSION_MISMATCH");
        const back = await storage.writeCAS({ ...second, id: sampleId(A1, HOME, "web") });
        assertSame(await storage.read("strong", sampleId(A1, HOME, "web")), back);
        const create = sample(A2, HOME, "web");
        await assertCode(storage.writeCAS(create), "STORAGE_CAS_FAILURE");
      },
    },
    {
      title: "never gives a version of an earlier lifetime again",
      run: async ({ storage }) => {
        const seen = new Set<string>();
        let stale: Resource | undefined;
        for (let life = 0; life < 5; life += 1) {
          const stored = await storage.writeCAS(sample(A1, HOME, "web"));
          assert.ok(!seen.has(stored.version));
          seen.add(stored.version);
          if (stale !== undefined) await assertCode(storage.writeCAS(stale), "STORAGE_CAS_FAILURE");
          stale = stored;
          await storage.deleteCAS(stored.id, stored.version);
        }
      },
    },
    {
      title: "keeps every field as it was given",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(FULL);
        assertSame(stored, { ...FULL, version: stored.version });
        assertSame(await storage.read("strong", FULL.id), stored);
      },
    },
    {
      title: "tells absent data from empty data, and drops what the next write leaves out",
      run: async ({ storage }) => {
        const empty = { typeUrl: "", value: new Uint8Array() };
        const without = await storage.writeCAS(sample(A1, HOME, "without"));
        const withEmpty = await storage.writeCAS(sample(A1, HOME, "with", { data: empty }));
        assert.equal((await storage.read("strong", without.id)).data, undefined);
        assert.deepEqual((await storage.read("strong", withEmpty.id)).data?.typeUrl, "");
        const full = await storage.writeCAS(FULL);
        const bare = sample(A1, HOME, "full", { version: full.version });
        const stored = await storage.writeCAS(bare);
        assertSame(await storage.read("strong", FULL.id), { ...bare, version: stored.version });
      },
    },
    {
      title: "stores what the argument was when the call started",
      run: async ({ storage }) => {
        const bytes = new TextEncoder().encode("before");
        const metadata: Record<string, string> = { key: "before" };
        const input = sample(A1, HOME, "web", { metadata, data: { typeUrl: "t", value: bytes } });
        const writing = storage.writeCAS(input);
        metadata.key = "after";
        bytes.fill(0);
        await writing;
        const stored = await storage.read("strong", input.id);
        assert.equal(stored.metadata.key, "before");
        assert.equal(new TextDecoder().decode(stored.data?.value), "before");
      },
    },
    {
      title: "gives pairwise different versions",
      run: async ({ storage }) => {
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        const versions = new Set([stored.version]);
        for (let count = 1; count < 100; count += 1) {
          stored = await storage.writeCAS(stored);
          versions.add(stored.version);
        }
        assert.equal(versions.size, 100);
      },
    },
    {
      title: "changes nothing and tells nobody when it fails",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web", { data: payload("one") }));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), stored);
        const other = { ...stored, data: payload("two") };
        const failures = [
          storage.writeCAS({ ...other, version: "" }),
          storage.writeCAS({ ...other, version: "some-version" }),
        ];
        await Promise.all(failures.map((call) => assertCode(call, "STORAGE_CAS_FAILURE")));
        const wrong = { ...other, id: sampleId(A1, HOME, "web", "b") };
        await assertCode(storage.writeCAS(wrong), "STORAGE_WRONG_UID");
        assertSame(await storage.read("strong", stored.id), stored);
        const marker = await storage.writeCAS(sample(A1, HOME, "marker"));
        assertSame(await nextUpsert(watch), marker);
      },
    },
    {
      title: "stores up to its data limit and refuses more",
      run: async ({ storage, capabilities }) => {
        const { dataBytes } = capabilities.limits;
        assert.ok(dataBytes >= 1024 * 1024, "every engine takes 1 MiB of data");
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        for (const size of [0, 1, 65_536, 1024 * 1024, dataBytes]) {
          const value = new Uint8Array(size).fill(0xa5);
          stored = await storage.writeCAS({ ...stored, data: { typeUrl: "t", value } });
          assertSame(await storage.read("strong", stored.id), stored);
        }
        const value = new Uint8Array(dataBytes + 1);
        const tooLarge = storage.writeCAS({ ...stored, data: { typeUrl: "t", value } });
        const error = await assertCode(tooLarge, "STORAGE_TOO_LARGE");
        assert.equal(error.details.limit, dataBytes);
        assertSame(await storage.read("strong", stored.id), stored);
      },
    },
    {
      title: "tells names apart by their bytes",
      run: async ({ storage }) => {
        const names = ["a", "A", "\u00e4", "a\u0308", "a ", "a/b", "a\u0001", "🐘", "\ufffd"];
        for (const name of names) {
          await storage.writeCAS(sample(A1, HOME, name, { data: payload(name) }));
        }
        for (const name of names) {
          const stored = await storage.read("strong", sampleId(A1, HOME, name));
          assert.equal(stored.id.name, name);
          assert.equal(new TextDecoder().decode(stored.data?.value), name);
        }
        assert.equal((await settledList(storage, A1, HOME, "")).length, names.length);
      },
    },
  ],
};
