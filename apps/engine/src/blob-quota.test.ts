import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { packArchive } from "@stackwright/provider-source";
import { createRemoteBlobs } from "@stackwright/storage/blob/remote";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { serve } from "./serve.ts";
import { parseServeArguments } from "./serve-arguments.ts";
import { tarOf } from "./testing/tar-of.ts";

const QUOTA = 10_000;

async function archiveOf(content: Uint8Array): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const entry = { path: "terraform-provider-thing_v1.0.0", mode: 0o755, content };
  for await (const chunk of packArchive([entry])) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function start() {
  const directory = await mkdtemp(join(tmpdir(), "quota-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const first = join(directory, "first.json");
  const words = `--store sqlite:store --port 0 --storage-port 0 --log-level silent --max-blob-bytes ${QUOTA}`;
  const options = await parseServeArguments(words.split(" "), {}, directory);
  const server = await serve({ ...options, bootstrapFile: first }, { directory, env: {} });
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(first, "utf8")) as BootstrapCredentials;
  return { server, token };
}

describe("--max-blob-bytes of a server", () => {
  it("bounds the configurations that are uploaded to it", async () => {
    const { server, token } = await start();
    const stacks = `${server.url}/api/v1/projects/web/stacks`;
    const authorization = `Bearer ${token}`;
    const body = JSON.stringify({ name: "one" });
    await fetch(stacks, { method: "POST", headers: { authorization }, body });
    const upload = async (bytes: number) => {
      const archive = gzipSync(tarOf({ "main.tf": randomBytes(bytes).toString("hex") }));
      const headers = { authorization, "content-type": "application/gzip" };
      const content = { method: "POST", headers, body: Uint8Array.from(archive) };
      const answer = await fetch(`${stacks}/one/configurations`, content);
      const { code } = (await answer.json()) as { code?: string };
      return [answer.status, code];
    };
    expect(await upload(QUOTA / 2)).toEqual([201, undefined]);
    expect(await upload(QUOTA / 2)).toEqual([507, "quota_exceeded"]);
  });

  it("bounds what a worker writes for the account of its token", async () => {
    const { server } = await start();
    const address = { host: "127.0.0.1", port: server.storagePort ?? 0 };
    const open = async (account: string) => {
      const scope = { partition: account, peerName: "local", namespace: "*", namePrefix: "" };
      const { token } = await server.credentials.createToken({
        account,
        roles: ["worker"],
        storageScopes: [scope],
      });
      return createRemoteBlobs({ address, token });
    };
    await using acme = await open("acme");
    await using other = await open("other");
    await acme.write(randomBytes(QUOTA - 1));
    await expect(acme.write(randomBytes(2), { owner: "acme" })).rejects.toMatchObject({
      code: "STORAGE_QUOTA_EXCEEDED",
      message: expect.stringContaining(
        `account "acme" is exceeded: its blobs have ${QUOTA - 1} of`,
      ),
      details: { owner: "acme", used: QUOTA - 1, limit: QUOTA },
    });
    await acme.write(randomBytes(1));
    await expect(acme.write(randomBytes(1), { owner: "other" })).rejects.toMatchObject({
      code: "STORAGE_PERMISSION_DENIED",
    });
    await other.write(randomBytes(QUOTA));
  });

  it("bounds the archives of an account", async () => {
    const { server, token } = await start();
    const put = async (path: string, body?: Uint8Array) => {
      const answer = await fetch(`${server.url}/api/v1/registry/${path}`, {
        method: "PUT",
        headers: { "x-auth-token": token, ...(body && { "content-type": "application/zip" }) },
        ...(body && { body: new Uint8Array(body) }),
      });
      return { status: answer.status, body: await answer.text() };
    };
    expect((await put("namespaces/acme")).status).toBe(200);
    const at = (version: string) => `providers/acme/thing/${version}/linux_amd64`;
    const archive = await archiveOf(randomBytes(6_000));
    expect((await put(at("1.0.0"), archive)).status).toBe(201);
    expect((await put(at("1.0.0"), archive)).status).toBeLessThan(300);
    const refused = await put(at("2.0.0"), await archiveOf(randomBytes(6_000)));
    expect(refused.status).toBe(403);
    expect(refused.body).toContain("REGISTRY_QUOTA_EXCEEDED");
    expect(refused.body).toContain(`${archive.length} of ${QUOTA} bytes`);
    expect((await put(at("2.0.0"), await archiveOf(randomBytes(1_000)))).status).toBe(201);
  });
});
