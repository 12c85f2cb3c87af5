import { chown, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import postgres from "postgres";
import { test } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { type OwnServers, startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createPostgresStorage } from "../postgres.ts";

const server = createSelfSignedIdentity();
const client = createSelfSignedIdentity({ name: "client" });

/** Has the server take encrypted connections of holders of the client's certificate only. */
async function demandCertificates(own: OwnServers, url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const [row] = await sql`SHOW data_directory`;
  const folder = String(row?.data_directory);
  const { uid, gid } = await stat(folder);
  const files = {
    "server.crt": server.certificate,
    "server.key": server.privateKey,
    "clients.crt": client.certificate,
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    if (process.getuid?.() === 0) await chown(path, uid, gid);
  }
  await sql`ALTER SYSTEM SET ssl_ca_file = 'clients.crt'`;
  await sql`ALTER SYSTEM SET ssl = 'on'`;
  await sql.end();
  const rules = join(folder, "pg_hba.conf");
  await writeFile(rules, "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n");
  await own.command("restart 0");
}

test("a server with certificates is reached by those who have one", async (context) => {
  await using own = await startOwnServers(["postgres"]);
  if (own?.url === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { url } = own;
  const tls = {
    ca: server.certificate,
    cert: client.certificate,
    key: client.privateKey,
    servername: "localhost",
  };
  const timeoutMs = 3_000;
  // Who wants encryption does not go on without it.
  await assertCode(createPostgresStorage({ url, tls, timeoutMs }), "STORAGE_INCONSISTENT");
  await demandCertificates(own, url);
  {
    await using storage = await createPostgresStorage({ url, tls, timeoutMs });
    const stored = await storage.writeCAS(sample(A1, HOME, "web"));
    using watch = await storage.watchList(A1, HOME, "");
    assertSame(await nextUpsert(watch), stored);
    const next = await storage.writeCAS(stored);
    assertSame(await nextUpsert(watch), next);
    await using snapshot = await storage.snapshot();
    for await (const one of snapshot) assertSame(one, next);
  }
  const other = createSelfSignedIdentity({ name: "client" });
  const { cert: _, key: __, ...anonymous } = tls;
  const strangers: readonly (object | undefined)[] = [
    { ...tls, cert: other.certificate, key: other.privateKey },
    anonymous,
    { ...tls, ca: client.certificate },
    { ...tls, servername: "elsewhere" },
    undefined,
  ];
  for (const stranger of strangers) {
    const opening = createPostgresStorage({
      url,
      timeoutMs: 1_500,
      ...(stranger === undefined ? {} : { tls: stranger }),
    });
    await assertCode(opening, "STORAGE_INCONSISTENT", "STORAGE_PERMISSION_DENIED");
  }
});
