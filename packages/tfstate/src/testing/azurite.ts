import { execFileSync, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { freePorts } from "@stackwright/base/free-ports";
import { onTestFinished } from "vitest";

/** The emulator of Azure's storage with one account, which has the container `states`. */
export interface Azurite {
  readonly account: string;
  readonly key: string;
  readonly endpoint: string;
  /** With which the reader of this package reaches it. */
  readonly env: Readonly<Record<string, string>>;
  readonly createContainer: () => Promise<void>;
  /** With which the real command reaches it, which calls `ACCOUNT.blob.core.windows.net` alone. */
  readonly commandEnv: () => Promise<Readonly<Record<string, string>>>;
}

const CONTAINER = "states";
const VERSION = "2021-12-02";

/** @param program the script of the emulator: `TEST_AZURITE` */
export async function startAzurite(program: string): Promise<Azurite> {
  const account = "acmestates";
  const key = randomBytes(64).toString("base64");
  const folder = await mkdtemp(join(tmpdir(), "azurite-"));
  const [port = 0] = await freePorts(1);
  const words = ["--blobHost", "127.0.0.1", "--blobPort", String(port), "--location", folder];
  const child = spawn(
    process.execPath,
    [program, ...words, "--silent", "--disableTelemetry", "--skipApiVersionCheck"],
    {
      env: { PATH: process.env["PATH"] ?? "", AZURITE_ACCOUNTS: `${account}:${key}` },
      stdio: "ignore",
    },
  );
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  });
  const endpoint = `http://127.0.0.1:${port}/${account}`;
  for (let attempt = 0; ; attempt += 1) {
    const answer = await fetch(endpoint).catch(() => undefined);
    if (answer !== undefined) break;
    if (attempt > 600) throw new Error("azurite does not answer");
    await delay(100);
  }
  return {
    account,
    key,
    endpoint,
    env: {
      AZURE_STORAGE_CONNECTION_STRING: `AccountName=${account};AccountKey=${key};BlobEndpoint=${endpoint}`,
      ARM_ACCESS_KEY: key,
    },
    createContainer: async () => createContainer(endpoint, account, key),
    commandEnv: async () => ({ ...(await startTunnel(port)), ARM_ACCESS_KEY: key }),
  };
}

/** The backend never makes containers, so that the test does. */
async function createContainer(endpoint: string, account: string, key: string): Promise<void> {
  const date = new Date().toUTCString();
  const named = `x-ms-date:${date}\nx-ms-version:${VERSION}`;
  const resource = `/${account}/${account}/${CONTAINER}\nrestype:container`;
  const text = `PUT${"\n".repeat(12)}${named}\n${resource}`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  const answer = await fetch(`${endpoint}/${CONTAINER}?restype=container`, {
    method: "PUT",
    headers: {
      "x-ms-date": date,
      "x-ms-version": VERSION,
      Authorization: `SharedKey ${account}:${signature}`,
    },
  });
  if (answer.status !== 201) throw new Error(`no container: ${await answer.text()}`);
}

/** A proxy whose only host is the emulator, under the names of the service and a certificate for them. */
async function startTunnel(port: number): Promise<Readonly<Record<string, string>>> {
  const folder = await mkdtemp(join(tmpdir(), "azure-tunnel-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const names = "subjectAltName=DNS:*.blob.core.windows.net";
  execFileSync(
    "openssl",
    [
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
      ["-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=test", "-addext", names],
    ].flat(),
    { stdio: "ignore" },
  );
  const identity = { key: await readFile(key), cert: await readFile(cert) };
  const open = new Set<Socket>();
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }, socket: Socket) => {
    if (!url.endsWith(".blob.core.windows.net:443")) {
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const plain = new TLSSocket(socket, { isServer: true, ...identity });
    const target = connect(port, "127.0.0.1");
    for (const one of [socket, plain, target]) {
      open.add(one);
      one.on("error", () => [plain, target].map((side) => side.destroy()));
      one.on("close", () => open.delete(one));
    }
    plain.pipe(target).pipe(plain);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    for (const one of open) one.destroy();
    proxy.close();
  });
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { HTTPS_PROXY: address, SSL_CERT_FILE: cert };
}
