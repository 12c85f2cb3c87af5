import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenStore } from "@stackwright/core";
import { packArchive } from "@stackwright/provider-source";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { serve } from "./serve.ts";

/** Keeps the refused bytes apart from everything else that a test writes. */
const REFUSED = Buffer.from("this is no archive");

async function archiveOf(text: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const content = Buffer.from(text);
  const entry = { path: "terraform-provider-thing_v1.0.0", mode: 0o755, content };
  for await (const chunk of packArchive([entry])) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

describe("the server's collection of blobs", () => {
  it("removes refused uploads and withdrawn archives after their hold, and never live ones", async () => {
    const directory = await mkdtemp(join(tmpdir(), "collection-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    let blobs: OpenStore["blobs"] | undefined;
    const logs: string[] = [];
    const server = await serve(
      {
        store: "sqlite:store",
        port: 0,
        bootstrapFile: join(directory, "first.json"),
        logLevel: "warn",
      },
      {
        directory,
        env: {},
        logs: { write: (line) => void logs.push(line) },
        collectMs: 100,
        blobHoldMs: 300,
        plugins: ({ store }) => {
          ({ blobs } = store);
          return [];
        },
      },
    );
    onTestFinished(() => server.close());
    const first = await readFile(join(directory, "first.json"), "utf8");
    const { token } = JSON.parse(first) as BootstrapCredentials;
    const call = (method: string, path: string, body?: Uint8Array) =>
      fetch(server.url + path, {
        method,
        headers: { "x-auth-token": token, ...(body && { "content-type": "application/zip" }) },
        ...(body && { body: new Uint8Array(body) }),
      });
    // Asking the store would hold what is asked for: what is there is read.
    const exists = async (sha256: string): Promise<boolean> => {
      try {
        for await (const _ of blobs?.read(sha256) ?? []);
        return true;
      } catch {
        return false;
      }
    };

    expect((await call("PUT", "/api/v1/registry/namespaces/acme")).status).toBe(200);
    const [kept, withdrawn] = [await archiveOf("kept"), await archiveOf("withdrawn")];
    const at = (version: string) => `/api/v1/registry/providers/acme/thing/${version}`;
    expect((await call("PUT", `${at("1.0.0")}/linux_amd64`, kept)).status).toBe(201);
    expect((await call("PUT", `${at("2.0.0")}/linux_amd64`, withdrawn)).status).toBe(201);
    expect((await call("DELETE", at("2.0.0"))).status).toBeLessThan(300);
    expect((await call("PUT", `${at("3.0.0")}/linux_amd64`, REFUSED)).status).toBe(422);
    expect(await exists(digestOf(REFUSED))).toBe(true);

    await expect.poll(() => exists(digestOf(REFUSED)), { timeout: 10_000 }).toBe(false);
    await expect.poll(() => exists(digestOf(withdrawn)), { timeout: 10_000 }).toBe(false);
    expect(await exists(digestOf(kept))).toBe(true);
    // Only the same archive comes back, and brings its bytes with it.
    expect((await call("PUT", `${at("2.0.0")}/linux_amd64`, withdrawn)).status).toBe(201);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await exists(digestOf(withdrawn))).toBe(true);
    expect(logs.join("")).toBe("");
  });
});
