import { createHash } from "node:crypto";
import { systemClock } from "@stackwright/base/clock";
import { describe, expect, it } from "vitest";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { createTestState, TEST_STACK } from "../testing/state-fixture.ts";
import { STATE_BLOB_KINDS } from "./blob-references.ts";
import { createRuns } from "./runs.ts";

describe("references to blobs", () => {
  it("are those of the plans that runs and saved plans are shown by", async () => {
    const { storage, state, ulid } = createTestState();
    const runs = createRuns(TEST_STACK, { storage, scheduler: systemClock, token: ulid });
    const documents = { documentSha256: "a".repeat(64), viewSha256: "" };
    await state.storePlan({ baseRevision: 0n, bytes: Buffer.from("p"), documents });
    const ofRun = { documentSha256: "b".repeat(64), viewSha256: "c".repeat(64) };
    await runs.create({ id: ulid(), cause: "", planDocuments: ofRun });
    const found: string[] = [];
    await using snapshot = await storage.snapshot();
    for await (const resource of snapshot) {
      const kind = STATE_BLOB_KINDS.find(({ type }) => type.kind === resource.id.type.kind);
      found.push(...(kind?.blobs?.(resource) ?? []));
    }
    expect(found.sort()).toEqual(["a", "b", "c"].map((digit) => digit.repeat(64)));
  });

  it("are all that were written and are still needed", async () => {
    const blobs = new MemoryBlobs();
    const { storage, state, ulid } = createTestState({ blobs });
    const large = "x".repeat(100_000);
    await state.storePlan({ baseRevision: 0n, bytes: Buffer.from(large) });
    await using hold = await state.acquire();
    const writer = await hold.begin({ run: ulid(), base: 0n });
    await writer.write({
      kind: "adopt",
      key: { address: "t.a", deposed: "" },
      object: {
        mode: "managed",
        type: "t",
        provider: { source: "example.com/acme/cloud", version: "", alias: "" },
        dependencies: [],
        createBeforeDestroy: false,
      },
      content: {
        value: { schemaVersion: 0, json: JSON.stringify({ id: large }), sensitive: [] },
        privateBytes: new Uint8Array(80_000),
      },
    });
    const json = JSON.stringify(large);
    await writer.finish({ outputs: new Map([["o", { type: '"string"', json, sensitive: true }]]) });
    const found = new Set<string>();
    await using snapshot = await storage.snapshot();
    for await (const resource of snapshot) {
      const { group, kind: name } = resource.id.type;
      const kind = STATE_BLOB_KINDS.find(({ type }) => type.group === group && type.kind === name);
      expect(kind, name).toBeDefined();
      for (const sha256 of kind?.blobs?.(resource) ?? []) found.add(sha256);
    }
    const written = [...blobs.contents()].map((bytes) =>
      createHash("sha256").update(bytes).digest("hex"),
    );
    expect(written.length).toBe(4);
    expect([...found].sort()).toEqual([...new Set(written)].sort());
  });
});
