import assert from "node:assert/strict";
import { isStorageError } from "../../errors.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type { BatchOperation } from "../../types.ts";
import { assertCode, settledList } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, EVERYWHERE, HOME, sample, sampleId } from "../samples.ts";

/** A string that has no UTF-8 form. */
const LONE_SURROGATE = "a\ud800";

const malformedIds: readonly (readonly [string, ResourceId])[] = [
  ["an empty name", sampleId(A1, HOME, "")],
  ["an empty group", sampleId({ ...A1, group: "" }, HOME, "web")],
  ["an empty kind", sampleId({ ...A1, kind: "" }, HOME, "web")],
  ["NUL in a name", sampleId(A1, HOME, "a\0b")],
  ["NUL in a uid", sampleId(A1, HOME, "web", "a\0b")],
  ["NUL in a group", sampleId({ ...A1, group: "a\0b" }, HOME, "web")],
  ["NUL in a kind", sampleId({ ...A1, kind: "a\0b" }, HOME, "web")],
  ["NUL in a namespace", sampleId(A1, { ...HOME, namespace: "a\0b" }, "web")],
  ["a name that is no Unicode", sampleId(A1, HOME, LONE_SURROGATE)],
  ["a partition that is no Unicode", sampleId(A1, { ...HOME, partition: LONE_SURROGATE }, "web")],
  ["a wildcard partition", sampleId(A1, { ...HOME, partition: "*" }, "web")],
  ["a wildcard peer name", sampleId(A1, { ...HOME, peerName: "*" }, "web")],
  ["a wildcard namespace", sampleId(A1, { ...HOME, namespace: "*" }, "web")],
];

const malformedContents: readonly (readonly [string, Partial<Resource>])[] = [
  ["a version with NUL", { version: "1\0" }],
  ["a metadata key that is no Unicode", { metadata: { [LONE_SURROGATE]: "" } }],
  ["a metadata value that is no Unicode", { metadata: { key: LONE_SURROGATE } }],
  ["a generation that is no Unicode", { generation: LONE_SURROGATE }],
  ["a type URL that is no Unicode", { data: { typeUrl: LONE_SURROGATE, value: new Uint8Array() } }],
  ["an owner without a name", { owner: sampleId(A1, HOME, "") }],
  ["an owner in a wildcard tenancy", { owner: sampleId(A1, EVERYWHERE, "owner") }],
  [
    "a status time out of range",
    {
      status: {
        k: { observedGeneration: "", conditions: [], updatedAt: { seconds: 1e15, nanos: 0 } },
      },
    },
  ],
];

/** Bad input: typed errors everywhere, and nothing changed. */
export const INPUT_SCENARIOS: ScenarioGroup = {
  title: "bad input",
  scenarios: [
    {
      title: "refuses malformed ids in every call",
      run: async ({ storage, capabilities }) => {
        for (const [what, id] of malformedIds) {
          const resource = { ...sample(A1, HOME, "x"), id };
          const calls: Promise<unknown>[] = [
            storage.read("eventual", id),
            storage.read("strong", id),
            storage.writeCAS(resource),
            storage.deleteCAS(id, "1"),
            storage.listByOwner(id),
          ];
          if (capabilities.guards > 0) {
            const guards = [{ id, version: "" }];
            calls.push(storage.writeCAS(sample(A1, HOME, "guarded"), { guards }));
          }
          if (capabilities.batch > 0) {
            const good: BatchOperation = { kind: "write", resource: sample(A1, HOME, "good") };
            calls.push(storage.batch([good, { kind: "write", resource }]));
            calls.push(storage.batch([good, { kind: "delete", id, version: "1" }]));
          }
          await refusesAll(what, calls);
        }
        assert.deepEqual(await settledList(storage, A1, EVERYWHERE, ""), []);
      },
    },
    {
      title: "refuses malformed contents",
      run: async ({ storage }) => {
        for (const [what, parts] of malformedContents) {
          await refusesAll(what, [storage.writeCAS({ ...sample(A1, HOME, "web"), ...parts })]);
        }
        assert.deepEqual(await settledList(storage, A1, EVERYWHERE, ""), []);
      },
    },
    {
      title: "refuses a write without a group version",
      run: async ({ storage }) => {
        const call = storage.writeCAS(sample({ ...A1, groupVersion: "" }, HOME, "web"));
        await assertCode(call, "STORAGE_INVALID_ARGUMENT");
      },
    },
    {
      title: "takes names up to the limit in UTF-8 bytes and refuses longer ones",
      run: async ({ storage, capabilities }) => {
        const { nameBytes } = capabilities.limits;
        for (const letter of ["a", "ä", "漢", "🐘"]) {
          const width = Buffer.byteLength(letter);
          const longest = letter.repeat(Math.floor(nameBytes / width));
          const stored = await storage.writeCAS(sample(A1, HOME, longest));
          assert.equal((await storage.read("strong", stored.id)).id.name, longest);
          const listed = await settledList(storage, A1, HOME, longest);
          assert.equal(listed.length, 1);
          const tooLong = sample(A1, HOME, longest + letter);
          await assertCode(storage.writeCAS(tooLong), "STORAGE_TOO_LARGE");
          await assertCode(storage.read("eventual", tooLong.id), "STORAGE_TOO_LARGE");
        }
      },
    },
    {
      title: "refuses over-long fields and envelopes",
      run: async ({ storage, capabilities }) => {
        const long = "x".repeat(10_000);
        const calls: Promise<unknown>[] = [
          storage.writeCAS(sample(A1, HOME, "web", { uid: long })),
          storage.writeCAS(sample({ ...A1, kind: long }, HOME, "web")),
          storage.writeCAS(sample(A1, { ...HOME, namespace: long }, "web")),
          storage.writeCAS(
            sample(A1, HOME, "web", {
              metadata: { key: "x".repeat(capabilities.limits.envelopeBytes + 1) },
            }),
          ),
        ];
        await Promise.all(calls.map((call) => assertCode(call, "STORAGE_TOO_LARGE")));
      },
    },
    {
      title: "refuses filters that cannot match, with typed errors",
      run: async ({ storage }) => {
        const calls: Promise<unknown>[] = [
          storage.list("eventual", { group: "", kind: "a" }, HOME, ""),
          storage.list("eventual", A1, { ...HOME, partition: "a\0" }, ""),
          storage.list("eventual", A1, HOME, "a\0"),
          storage.list("eventual", A1, HOME, LONE_SURROGATE),
          storage.watchList({ group: "g", kind: "" }, HOME, ""),
          storage.watchList(A1, HOME, "\0"),
        ];
        await Promise.all(calls.map((call) => assertCode(call, "STORAGE_INVALID_ARGUMENT")));
      },
    },
    {
      title: "keeps metadata and status keys that objects treat specially",
      run: async ({ storage }) => {
        const metadata = JSON.parse(
          '{"__proto__": "p", "constructor": "c", "toString": "t"}',
        ) as Record<string, string>;
        const stored = await storage.writeCAS(sample(A1, HOME, "web", { metadata }));
        const read = await storage.read("strong", stored.id);
        assert.deepEqual(new Map(Object.entries(read.metadata)), new Map(Object.entries(metadata)));
      },
    },
    {
      title: "rejects with the signal's reason when called with an aborted signal",
      run: async ({ storage }) => {
        const reason = new Error("enough");
        const signal = AbortSignal.abort(reason);
        const id = sampleId(A1, HOME, "web");
        const calls: Promise<unknown>[] = [
          storage.read("strong", id, { signal }),
          storage.writeCAS(sample(A1, HOME, "web"), { signal }),
          storage.deleteCAS(id, "1", { signal }),
          storage.list("eventual", A1, HOME, "", { signal }),
          storage.watchList(A1, HOME, "", { signal }),
          storage.listByOwner(id, { signal }),
        ];
        await Promise.all(calls.map((call) => assert.rejects(call, reason)));
      },
    },
  ],
};

async function refusesAll(what: string, calls: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(calls);
  for (const outcome of outcomes) {
    const error: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
    assert.ok(isStorageError(error, "STORAGE_INVALID_ARGUMENT"), `${what}: ${String(error)}`);
  }
}
