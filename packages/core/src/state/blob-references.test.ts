import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { STATE_BLOB_KINDS } from "./blob-references.ts";

describe("references to blobs", () => {
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
