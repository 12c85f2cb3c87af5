import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { expect, test } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createEtcdStorage, type EtcdStorageOptions } from "../etcd.ts";

test("a cluster with certificates is reached by those who have one", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "stackwright-etcd-tls-"));
  const server = createSelfSignedIdentity();
  const client = createSelfSignedIdentity({ name: "client" });
  const files = {
    cert: server.certificate,
    key: server.privateKey,
    // A member calls itself as well, with its own certificate.
    ca: `${String(client.certificate)}\n${String(server.certificate)}`,
  };
  const flags: string[] = [];
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, `${name}.pem`);
    await writeFile(path, text, { mode: 0o600 });
    flags.push(`--${name}`, path);
  }
  await using own = await startOwnServers(["etcd", "--members", "3", ...flags]);
  if (own === undefined) {
    await rm(directory, { recursive: true });
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { endpoints } = own;
  const tls = { trusted: server.certificate, identity: client, serverName: "localhost" };
  expect(endpoints.every((endpoint) => endpoint.startsWith("https:"))).toBe(true);
  {
    await using storage = await createEtcdStorage({ endpoints, tls });
    const stored = await storage.writeCAS(sample(A1, HOME, "web"));
    using watch = await storage.watchList(A1, HOME, "");
    assertSame(await nextUpsert(watch), stored);
    // The next member is taken with the same certificates.
    await own.command("kill9 0");
    const next = await storage.writeCAS(await storage.read("strong", stored.id));
    assertSame(await nextUpsert(watch), next);
    await own.command("restart 0");
  }
  const other = createSelfSignedIdentity({ name: "client" });
  const strangers: readonly EtcdStorageOptions[] = [
    { endpoints, tls: { ...tls, identity: other } },
    { endpoints, tls: { trusted: server.certificate, serverName: "localhost" } },
    { endpoints, tls: { ...tls, trusted: client.certificate } },
    { endpoints, tls: { ...tls, serverName: "elsewhere" } },
    { endpoints },
    { endpoints: endpoints.map((endpoint) => endpoint.replace("https:", "http:")) },
  ];
  for (const stranger of strangers) {
    const opening = createEtcdStorage({ ...stranger, timeoutMs: 1_000 });
    await assertCode(opening, "STORAGE_INCONSISTENT");
  }
  await rm(directory, { recursive: true });
});
