import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { UpstreamVersion } from "@stackwright/proto/stackwright";
import { ProviderAddress } from "@stackwright/provider-source";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { InstallHttpClient } from "@stackwright/tfplugin/install";
import { pino } from "pino";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { placeOf } from "./upstream-documents.ts";
import { UpstreamMirror } from "./upstream-mirror.ts";

const HOST = "registry.example.com";

it("a version that its registry does not know any more was withdrawn where the mirror had it, and else is not there", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "upstream-mirror-"));
  await using blobs = await createDirectoryBlobs({ directory: scratch.path });
  const { parts, put } = createRunFixture();
  const address = ProviderAddress.parse(`${HOST}/acme/demo`);
  const name = address.toString();
  await put(SERVER_KINDS.upstreamProvider, placeOf("acme", name), {
    releases: [],
    fetchedAtMs: BigInt(systemClock.wallMs()),
    quarantined: [],
    indexed: true,
  });
  const mirrored = UpstreamVersion.create({ hashes: [`zh:${"a".repeat(64)}`] });
  await put(SERVER_KINDS.upstreamVersion, placeOf("acme", `${name}/1.0.0`), mirrored);
  const mirror = new UpstreamMirror({
    ...parts,
    clock: systemClock,
    blobs,
    logger: pino({ level: "silent" }),
    hosts: new Map([[HOST, "https://registry.example.com/v1/"]]),
    http: new InstallHttpClient({ fetch: async () => new Response(null, { status: 404 }) }),
    stopping: AbortSignal.timeout(30_000),
  });
  await expect(mirror.version("acme", address, "1.0.0")).rejects.toMatchObject({
    code: "REGISTRY_VERSION_WITHDRAWN",
    message: `version 1.0.0 was withdrawn upstream, by the registry of ${HOST}`,
  });
  for (const version of ["1.1.0", "index"]) {
    await expect(mirror.version("acme", address, version)).rejects.toMatchObject({
      code: "not_found",
    });
  }
});
