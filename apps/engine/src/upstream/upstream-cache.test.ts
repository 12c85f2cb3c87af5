import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { UpstreamVersion } from "@stackwright/proto/stackwright";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { pino } from "pino";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { UpstreamCache } from "./upstream-cache.ts";
import { placeOf } from "./upstream-documents.ts";

it("evictions at the same time drop together what one would drop", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "upstream-cache-"));
  await using blobs = await createDirectoryBlobs({ directory: scratch.path });
  const { parts, put } = createRunFixture();
  for (let at = 0; at < 8; at += 1) {
    const usedAtMs = BigInt(at);
    const one = { platform: "linux_amd64", sha256: "a".repeat(64), size: 10n, usedAtMs };
    const place = placeOf("acme", `registry.example.com/acme/demo/1.0.${at}`);
    await put(SERVER_KINDS.upstreamVersion, place, UpstreamVersion.create({ packages: [one] }));
  }
  // As on servers of one store, or after fetches that end at once.
  const logger = pino({ level: "silent" });
  const cache = new UpstreamCache({ ...parts, clock: systemClock, blobs, logger });
  const evicted = await Promise.all(
    Array.from({ length: 3 }, async () => cache.evict("acme", { maxBytes: 60 })),
  );
  expect(evicted.flat().map(({ version }) => version)).toHaveLength(2);
  const left = (await cache.list("acme")).map(({ version }) => version);
  expect(left).toEqual(["1.0.2", "1.0.3", "1.0.4", "1.0.5", "1.0.6", "1.0.7"]);
});
