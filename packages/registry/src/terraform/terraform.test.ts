import { createHash } from "node:crypto";
import {
  archiveFromBytes,
  hashArchive,
  type PackEntry,
  Platform,
  packArchive,
} from "@stackwright/provider-source";
import { createStaticBridgeSource } from "@stackwright/provider-source/testing";
import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { createMessage, readKey, readSignature, verify } from "openpgp";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Role } from "../access/principal.ts";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_CONTEXT,
  TEST_REGION,
} from "../testing/registry-fixture.ts";
import { publishPlugin } from "./publish-plugin.ts";
import { terraformPlugin } from "./terraform-plugin.ts";

const URN = `urn:fss:${TEST_REGION}:a61dfe3154de42829367056598d5040f:function:default:test:latest`;

async function pack(
  text = "one",
  entry: Partial<PackEntry> = {},
  ...more: PackEntry[]
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const main = { path: "terraform-provider-thing", mode: 0o755, content: Buffer.from(text) };
  for await (const chunk of packArchive([{ ...main, ...entry }, ...more])) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("Terraform's protocols", () => {
  let fixture: RegistryFixture;
  let server: FastifyInstance;

  beforeEach(async () => {
    const storage = createMemoryStorage();
    fixture = await createRegistryFixture(storage);
    onTestFinished(async () => {
      await fixture[Symbol.asyncDispose]();
      await storage.close();
    });
    const { registry, authenticator } = fixture;
    const common = { registry, authenticator, region: TEST_REGION };
    server = fixture.server();
    await server.register(terraformPlugin, {
      ...common,
      mirrorHosts: ["example.test"],
      bridge: createStaticBridgeSource({
        platforms: ["linux_amd64", "linux_arm64"].map(Platform.parse),
      }),
    });
    await server.register(publishPlugin, {
      ...common,
      prefix: "/api/v1/registry",
      limits: { maxArchiveBytes: 1_000_000, archive: { maxTotalBytes: 2_000_000, maxRatio: 100 } },
    });
    await claim("acme", true);
    await claim("secret", false);
  });

  async function send(
    method: "GET" | "PUT" | "PATCH" | "DELETE" | "HEAD",
    url: string,
    options: {
      account?: string;
      role?: Role;
      body?: Buffer | object;
      headers?: Record<string, string>;
    } = {},
  ): Promise<LightMyRequestResponse> {
    const { account, role = "admin", body, headers } = options;
    const authorization = account === undefined ? {} : await fixture.authorization(account, role);
    return server.inject({
      method,
      url,
      headers: { ...authorization, ...headers },
      ...(body === undefined
        ? {}
        : { payload: Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    });
  }

  async function claim(name: string, isPublic: boolean): Promise<void> {
    const url = `/api/v1/registry/namespaces/${name}`;
    const answer = await send("PUT", url, { account: "acme", body: { public: isPublic } });
    expect(answer.statusCode).toBe(200);
  }

  async function publish(
    archive: Buffer,
    at = "acme/thing/1.0.0/linux_amd64",
    account = "acme",
    headers: Record<string, string> = {},
  ): Promise<LightMyRequestResponse> {
    const url = `/api/v1/registry/providers/${at}`;
    return send("PUT", url, {
      account,
      role: "publisher",
      body: archive,
      headers: { "content-type": "application/zip", ...headers },
    });
  }

  const download = async (platform = "linux/amd64"): Promise<Record<string, string>> => {
    const url = `/terraform/v1/providers/acme/thing/1.0.0/download/${platform}`;
    return (await send("GET", url)).json();
  };

  it("give their addresses", async () => {
    const answer = await send("GET", "/.well-known/terraform.json");
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    expect(answer.json()).toEqual({ "providers.v1": "/terraform/v1/providers/" });
  });

  it("offer what was published, with a signed list of checksums", async () => {
    const archive = await pack();
    const sha256 = createHash("sha256").update(archive).digest("hex");
    expect((await publish(archive)).statusCode).toBe(201);
    expect((await publish(archive)).statusCode).toBe(200);
    expect((await publish(await pack("arm"), "acme/thing/1.0.0/linux_arm64")).statusCode).toBe(201);

    expect((await send("GET", "/terraform/v1/providers/acme/thing/versions")).json()).toEqual({
      versions: [
        {
          version: "1.0.0",
          protocols: ["5.0"],
          platforms: [
            { os: "linux", arch: "amd64" },
            { os: "linux", arch: "arm64" },
          ],
        },
      ],
      warnings: null,
    });
    const found = await download();
    expect(found).toMatchObject({ shasum: sha256, os: "linux", arch: "amd64" });
    const sums = (await send("GET", found["shasums_url"] ?? "")).rawPayload;
    expect(sums.toString().split("\n")[0]).toBe(
      `${sha256}  terraform-provider-thing_1.0.0_linux_amd64.zip`,
    );
    const signature = (await send("GET", found["shasums_signature_url"] ?? "")).rawPayload;
    const keys = found["signing_keys"] as unknown as {
      gpg_public_keys: { ascii_armor: string }[];
    };
    const armored = keys.gpg_public_keys[0]?.ascii_armor ?? "";
    const { signatures } = await verify({
      message: await createMessage({ binary: new Uint8Array(sums) }),
      signature: await readSignature({ binarySignature: new Uint8Array(signature) }),
      verificationKeys: await readKey({ armoredKey: armored }),
    });
    await expect(signatures[0]?.verified).resolves.toBe(true);
    const file = await send("GET", found["download_url"] ?? "");
    expect(file.rawPayload.equals(archive)).toBe(true);
  });

  it("keep lists and signatures of earlier downloads valid while platforms are added", async () => {
    await publish(await pack());
    const before = await download();
    await publish(await pack("arm"), "acme/thing/1.0.0/linux_arm64");
    const sums = await send("GET", before["shasums_url"] ?? "");
    expect(sums.body.trim().split("\n")).toHaveLength(1);
    const after = await send("GET", (await download())["shasums_url"] ?? "");
    expect(after.body.trim().split("\n")).toHaveLength(2);
  });

  it("mirror published providers under the server's hosts, with both hashes", async () => {
    const archive = await pack();
    await publish(archive);
    const base = "/terraform/v1/mirror/example.test/acme/thing";
    expect((await send("GET", `${base}/index.json`)).json()).toEqual({ versions: { "1.0.0": {} } });
    const { h1, zh } = await hashArchive(archiveFromBytes(archive));
    const version = (await send("GET", `${base}/1.0.0.json`)).json<{
      archives: Record<string, { url: string; hashes: string[] }>;
    }>();
    expect(version.archives["linux_amd64"]?.hashes).toEqual([h1, zh]);
    const other = "/terraform/v1/mirror/other.test/acme/thing/index.json";
    expect((await send("GET", other, { account: "acme" })).statusCode).toBe(404);
    expect((await send("GET", other)).statusCode).toBe(401);
  });

  it("never let an archive change", async () => {
    await publish(await pack("one"));
    expect((await publish(await pack("two"))).json()).toMatchObject({
      error: { code: "REGISTRY_VERSION_EXISTS" },
    });
    const url = "/api/v1/registry/providers/acme/thing/1.0.0";
    expect((await send("DELETE", url, { account: "acme" })).statusCode).toBe(204);
    const versions = await send("GET", "/terraform/v1/providers/acme/thing/versions");
    expect(versions.json()).toMatchObject({ versions: [] });
    expect((await publish(await pack("two"))).json()).toMatchObject({
      error: { code: "REGISTRY_VERSION_RETIRED" },
    });
    expect((await publish(await pack("one"))).statusCode).toBe(201);
  });

  it("say of a version that it was withdrawn, until the same archive is back", async () => {
    await publish(await pack());
    await publish(await pack(), "acme/thing/1.1.0/linux_amd64");
    const withdrawn = "/api/v1/registry/providers/acme/thing/1.1.0";
    expect((await send("DELETE", withdrawn, { account: "acme" })).statusCode).toBe(204);
    const urls = [
      "/terraform/v1/mirror/example.test/acme/thing/1.1.0.json",
      "/terraform/v1/providers/acme/thing/1.1.0/download/linux/amd64",
    ];
    for (const url of urls) {
      const refused = await send("GET", url);
      expect([refused.statusCode, refused.json()]).toEqual([
        410,
        { errors: [expect.stringMatching(/^version 1\.1\.0 was withdrawn at 2\S+Z$/)] },
      ]);
      expect((await send("GET", url.replace("1.1.0", "1.2.0"))).statusCode).toBe(404);
      expect((await send("GET", url.replace("1.1.0", "1.0.0"))).statusCode).toBe(200);
    }
    await publish(await pack(), "acme/thing/1.1.0/linux_amd64");
    for (const url of urls) expect((await send("GET", url)).statusCode).toBe(200);
  });

  it("show deprecations", async () => {
    await publish(await pack());
    const url = "/api/v1/registry/providers/acme/thing/1.0.0";
    const body = { deprecation: "use 2.0.0" };
    expect((await send("PATCH", url, { account: "acme", body })).statusCode).toBe(204);
    const answer = await send("GET", "/terraform/v1/providers/acme/thing/versions");
    expect(answer.json()).toMatchObject({ warnings: ["1.0.0: use 2.0.0"] });
  });

  it("install providers that live in functions, for their account only", async () => {
    const { registry } = fixture;
    const scope = { account: "acme", region: TEST_REGION };
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    await registry.createProvider(scope, input, TEST_CONTEXT);
    const mirror = "/terraform/v1/mirror/huawei.com/private-provider/hello";
    const own = { account: "acme" };
    expect((await send("GET", `${mirror}/index.json`, own)).json()).toEqual({
      versions: { "1.0.0": {} },
    });
    const first = (await send("GET", `${mirror}/1.0.0.json`, own)).json<{
      archives: Record<string, { url: string; hashes: string[] }>;
    }>();
    expect(Object.keys(first.archives)).toEqual(["linux_amd64", "linux_arm64"]);
    const file = await send("GET", first.archives["linux_amd64"]?.url ?? "");
    const { h1, zh } = await hashArchive(archiveFromBytes(file.rawPayload));
    expect(first.archives["linux_amd64"]?.hashes).toEqual([h1, zh]);

    // The same through the registry protocol, where all platforms are in the list of checksums.
    const base = "/terraform/v1/providers/private-provider/hello";
    expect((await send("GET", `${base}/versions`, own)).json()).toMatchObject({
      versions: [{ version: "1.0.0", protocols: ["5.0"] }],
    });
    const found = (await send("GET", `${base}/1.0.0/download/linux/arm64`, own)).json<
      Record<string, string>
    >();
    const sums = await send("GET", found["shasums_url"] ?? "");
    expect(sums.body.trim().split("\n")).toHaveLength(2);

    for (const url of [`${mirror}/index.json`, `${mirror}/1.0.0.json`, `${base}/versions`]) {
      expect((await send("GET", url, { account: "other" })).statusCode).toBe(404);
      expect((await send("GET", url)).statusCode).toBe(401);
    }
  });

  it("keep private namespaces from others, without telling whether they exist", async () => {
    await publish(await pack(), "secret/thing/1.0.0/linux_amd64");
    for (const [namespace, account, status] of [
      ["secret", "acme", 200],
      ["secret", "other", 404],
      ["absent", "other", 404],
      ["secret", undefined, 401],
      ["absent", undefined, 401],
    ] as const) {
      const url = `/terraform/v1/providers/${namespace}/thing/versions`;
      const answer = await send("GET", url, account === undefined ? {} : { account });
      expect([namespace, account, answer.statusCode]).toEqual([namespace, account, status]);
    }
    const bad = { headers: { authorization: "Bearer nonsense" } };
    const answer = await send("GET", "/terraform/v1/providers/acme/thing/versions", bad);
    expect(answer.statusCode).toBe(401);
  });

  it("serve ranges, conditions and heads of archives", async () => {
    const archive = await pack("x".repeat(5000));
    await publish(archive);
    const { download_url: url = "", shasum = "" } = await download();
    const get = (headers: Record<string, string>, method: "GET" | "HEAD" = "GET") =>
      send(method, url, { headers });
    const part = await get({ range: "bytes=10-19" });
    expect([part.statusCode, part.headers["content-range"]]).toEqual([
      206,
      `bytes 10-19/${archive.length}`,
    ]);
    expect(part.rawPayload.equals(archive.subarray(10, 20))).toBe(true);
    const tail = await get({ range: "bytes=-7" });
    expect(tail.rawPayload.equals(archive.subarray(-7))).toBe(true);
    expect((await get({ range: `bytes=${archive.length}-` })).statusCode).toBe(416);
    expect((await get({ range: "bytes=0-1,3-4" })).statusCode).toBe(200);
    expect((await get({ range: "bytes=0-1", "if-range": '"other"' })).statusCode).toBe(200);
    expect((await get({ "if-none-match": `"${shasum}"` })).statusCode).toBe(304);
    const head = await get({}, "HEAD");
    expect([head.statusCode, head.headers["content-length"], head.body]).toEqual([
      200,
      String(archive.length),
      "",
    ]);
  });

  it("refuse file addresses that are changed or too old", async () => {
    await publish(await pack());
    const { download_url: url = "" } = await download();
    const [, token = ""] = /files\/([^/]+)/.exec(url) ?? [];
    const other = token.replace(/^./, (letter) => (letter === "W" ? "X" : "W"));
    for (const changed of [other, `${token}x`, token.split(".")[0] ?? "", "..%2F..%2Fetc", "a.b"]) {
      const answer = await send("GET", `/terraform/v1/files/${changed}/x.zip`);
      expect([changed, answer.statusCode]).toEqual([changed, 403]);
    }
    fixture.clock.setWallMs(Date.now() + 16 * 60_000);
    const late = await send("GET", url);
    expect([late.statusCode, late.body]).toEqual([403, expect.stringContaining("expired")]);
  });

  it("refuse archives that the command could not install, and note it", async () => {
    const safe = await pack("one", {}, { path: "aa/x", mode: 0o644, content: Buffer.from("x") });
    const traversal = Buffer.from(safe.toString("latin1").replaceAll("aa/x", "../x"), "latin1");
    const bomb = await pack("x", { content: Buffer.alloc(1_900_000) });
    const cases: [string, Buffer, number][] = [
      ["no zip", Buffer.from("not a zip"), 422],
      ["empty", Buffer.alloc(0), 422],
      ["truncated", safe.subarray(0, -10), 422],
      ["path traversal", traversal, 422],
      ["zip bomb", bomb, 413],
      ["too large", Buffer.alloc(1_000_001), 413],
      ["no executable", await pack("x", { path: "other" }), 422],
      ["not at the root", await pack("x", { path: "bin/terraform-provider-thing" }), 422],
      ["not executable", await pack("x", { mode: 0o644 }), 422],
    ];
    for (const [name, archive, status] of cases) {
      const answer = await publish(archive);
      expect([name, answer.statusCode, answer.body]).toEqual([name, status, expect.any(String)]);
    }
    const day = new Date().toISOString().slice(0, 10);
    const audit = await fixture.registry.auditDay({ account: "acme", region: TEST_REGION }, day);
    expect(audit.filter(({ outcome }) => outcome !== "done")).toHaveLength(cases.length);
    expect((await send("GET", "/terraform/v1/providers/acme/thing/versions")).json()).toMatchObject(
      { versions: [] },
    );
  });

  it("refuse uploads by others, to others' namespaces, and under bad names", async () => {
    const archive = await pack();
    for (const [at, account, status] of [
      ["acme/thing/1.0.0/linux_amd64", "other", 404],
      ["absent/thing/1.0.0/linux_amd64", "acme", 404],
      ["private-provider/thing/1.0.0/linux_amd64", "acme", 404],
      ["acme/thing/1.0/linux_amd64", "acme", 400],
      ["acme/thing/1.0.0/linux", "acme", 400],
      ["acme/..%2Fthing/1.0.0/linux_amd64", "acme", 400],
      ["acme/Thing/1.0.0/linux_amd64", "acme", 400],
    ] as const) {
      const answer = await publish(archive, at, account);
      expect([at, account, answer.statusCode]).toEqual([at, account, status]);
    }
    const announced = { "x-sdk-content-sha256": "0".repeat(64) };
    const lied = await publish(archive, "acme/thing/1.0.0/linux_amd64", "acme", announced);
    expect(lied.statusCode).toBe(422);
    const reader = await send("PUT", "/api/v1/registry/providers/acme/thing/1.0.0/linux_amd64", {
      account: "acme",
      role: "reader",
      body: archive,
    });
    expect(reader.statusCode).toBe(403);
    const taken = await send("PUT", "/api/v1/registry/namespaces/acme", {
      account: "other",
      body: { public: true },
    });
    expect(taken.statusCode).toBe(409);
  });
});
