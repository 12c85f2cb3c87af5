import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { packArchive } from "@stackwright/provider-source";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";

const HOST = "registry.example.com";
const MIRROR = `/terraform/v1/upstream/${HOST}/acme/demo`;
const QUARANTINE = `/api/v1/registry/quarantine/${HOST}/acme/demo`;

const PROVIDERS = `/terraform/v1/upstream-providers/${HOST}/acme/demo`;

/** A server whose registry has a provider, and one that mirrors it. */
async function start(networks = ["127.0.0.0/8"], options: object = {}) {
  const origin = await startApi("none");
  const claim = { body: { public: true } };
  expect((await origin.call("PUT", "/api/v1/registry/namespaces/acme", claim)).status).toBe(200);
  const publish = async (version: string) => {
    const content = Buffer.concat([Buffer.from(`#!/bin/sh\n# ${version}\n`), randomBytes(400_000)]);
    const entry = { path: `terraform-provider-demo_v${version}`, mode: 0o755, content };
    const body = Uint8Array.from(await buffer(packArchive([entry])));
    const path = `/api/v1/registry/providers/acme/demo/${version}/linux_amd64`;
    const headers = { "content-type": "application/zip" };
    const made = await origin.call("PUT", path, { body, headers });
    expect(made.status, made.text).toBeLessThan(300);
    return body;
  };
  const archive = await publish("1.0.0");
  const mirror = await startApi("none", {
    upstreamHosts: [`${HOST}=${origin.server.url}/terraform/v1/providers/`],
    upstreamNetworks: networks,
    ...options,
  });
  const packageOf = async (version: string) => {
    const { json } = await mirror.call("GET", `${MIRROR}/${version}.json`);
    const { linux_amd64: found } = json["archives"] as Record<string, { url: string }>;
    return fetch(mirror.server.url + (found?.url ?? ""));
  };
  return { origin, publish, archive, packageOf, ...mirror };
}

it("a provider is fetched once, verified, and served without its registry", {
  timeout: 60_000,
}, async () => {
  const { call, origin, archive, packageOf, server } = await start();
  expect((await call("GET", `${MIRROR}/index.json`, { token: "" })).status).toBe(401);
  expect((await call("GET", `${MIRROR}/index.json`)).json).toEqual({ versions: { "1.0.0": {} } });
  const version = await call("GET", `${MIRROR}/1.0.0.json`);
  const [hash] = (version.json["archives"] as Record<string, { hashes: string[] }>)["linux_amd64"]
    ?.hashes ?? [""];
  expect(hash).toMatch(/^zh:[0-9a-f]{64}$/);
  const all = await Promise.all(Array.from({ length: 20 }, async () => packageOf("1.0.0")));
  for (const one of all) expect(new Uint8Array(await one.arrayBuffer())).toEqual(archive);
  await origin.server.close();
  expect((await call("GET", `${MIRROR}/index.json`)).json).toEqual({ versions: { "1.0.0": {} } });
  expect(new Uint8Array(await (await packageOf("1.0.0")).arrayBuffer())).toEqual(archive);
  const url = `${server.url}/terraform/v1/upstream-packages/${"a".repeat(40)}.${"b".repeat(43)}/x.zip`;
  expect((await fetch(url)).status).toBe(403);
});

it("an entry of a registry that is none is left out, and requests are limited", {
  timeout: 60_000,
}, async () => {
  const upstream = createServer((_request, response) => {
    const broken = [null, 7, [], { version: 1 }, { version: "1.1.0", platforms: [null, {}] }];
    const versions = [...broken, { version: "1.0.0", platforms: [{ os: "linux", arch: "arm64" }] }];
    response.setHeader("content-type", "application/json").end(JSON.stringify({ versions }));
  });
  await new Promise<void>((done) => upstream.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    upstream.closeAllConnections();
    await new Promise((done) => upstream.close(done));
  });
  const { port } = upstream.address() as AddressInfo;
  const { call } = await startApi("none", {
    upstreamHosts: [`${HOST}=http://127.0.0.1:${port}/`],
    upstreamNetworks: ["127.0.0.0/8"],
    apiRateLimit: { perSecond: 1, burst: 3 },
  });
  const found = await call("GET", `${MIRROR}/index.json`);
  expect(found.json).toEqual({ versions: { "1.0.0": {}, "1.1.0": {} } });
  const statuses = [];
  for (let sent = 0; sent < 4; sent += 1) {
    statuses.push((await call("GET", `${MIRROR}/index.json`)).status);
  }
  expect(statuses.at(-1)).toBe(429);
  const modules = "/terraform/v1/modules/acme/demo/aws/versions";
  for (let sent = 0; sent < 4; sent += 1) statuses.push((await call("GET", modules)).status);
  expect(statuses.at(-1)).toBe(429);
});

it("addresses of packages, checksums and signatures end with the token that they were made for", {
  timeout: 60_000,
}, async () => {
  const { call, server } = await start();
  const { token, tokenId } = await server.credentials.createToken({
    account: "default",
    roles: ["reader"],
  });
  const mirrored = await call("GET", `${MIRROR}/1.0.0.json`, { token });
  const { linux_amd64: found } = mirrored.json["archives"] as Record<string, { url: string }>;
  const download = await call("GET", `${PROVIDERS}/1.0.0/download/linux/amd64`, { token });
  const urls = [
    found?.url,
    download.json["download_url"],
    download.json["shasums_url"],
    download.json["shasums_signature_url"],
  ];
  const statuses = async () =>
    Promise.all(urls.map(async (url) => (await fetch(server.url + String(url))).status));
  expect(await statuses()).toEqual([200, 200, 200, 200]);
  await server.credentials.revoke(tokenId);
  expect(await statuses()).toEqual([403, 403, 403, 403]);
});

it("a version in quarantine is offered no longer, until it is taken out", {
  timeout: 60_000,
}, async () => {
  const { call, publish, packageOf, tokenOf } = await start();
  await publish("1.1.0");
  expect((await packageOf("1.1.0")).status).toBe(200);
  const before = await call("GET", `${MIRROR}/1.1.0.json`);
  const put = { body: { reason: "stolen key" } };
  const token = await tokenOf("deployer");
  expect((await call("PUT", `${QUARANTINE}/1.1.0`, { ...put, token })).status).toBe(403);
  expect((await call("PUT", `${QUARANTINE}/1.1.0`, put)).json).toMatchObject({
    provider: `${HOST}/acme/demo`,
    version: "1.1.0",
    reason: "stolen key",
  });
  expect((await call("GET", `${MIRROR}/index.json`)).json).toEqual({ versions: { "1.0.0": {} } });
  const refused = await call("GET", `${MIRROR}/1.1.0.json`);
  expect([refused.status, refused.text]).toEqual([410, expect.stringContaining("stolen key")]);
  const { linux_amd64: known } = before.json["archives"] as Record<string, { url: string }>;
  expect((await call("GET", known?.url ?? "", { token: "" })).status).toBe(410);
  expect((await call("GET", "/api/v1/registry/quarantine")).json["versions"]).toHaveLength(1);
  expect((await call("DELETE", `${QUARANTINE}/1.1.0`)).status).toBe(204);
  expect((await packageOf("1.1.0")).status).toBe(200);
});

const WITHDRAWN_UPSTREAM = `version 1.0.0 was withdrawn upstream, by the registry of ${HOST}`;

it("a version that its registry withdrew is gone, while it is still listed and after", {
  timeout: 60_000,
}, async () => {
  const { call, origin, publish } = await start();
  await publish("1.1.0");
  expect((await call("GET", `${MIRROR}/index.json`)).status).toBe(200);
  const withdrawn = "/api/v1/registry/providers/acme/demo/1.0.0";
  expect((await origin.call("DELETE", withdrawn)).status).toBe(204);
  const gone = [
    410,
    expect.stringMatching(`${WITHDRAWN_UPSTREAM}: version 1.0.0 was withdrawn at 2`),
  ];
  const refused = async (address: string) => {
    const { status, text } = await call("GET", address);
    return [status, text];
  };
  expect(await refused(`${MIRROR}/1.0.0.json`)).toEqual(gone);
  expect(await refused(`${PROVIDERS}/1.0.0/download/linux/amd64`)).toEqual(gone);
  // A server that lists what there is now.
  const later = await startApi("none", {
    upstreamHosts: [`${HOST}=${origin.server.url}/terraform/v1/providers/`],
    upstreamNetworks: ["127.0.0.0/8"],
  });
  const index = await later.call("GET", `${MIRROR}/index.json`);
  expect(index.json).toEqual({ versions: { "1.1.0": {} } });
  const unlisted = await later.call("GET", `${MIRROR}/1.0.0.json`);
  expect([unlisted.status, unlisted.text]).toEqual(gone);
  expect((await later.call("GET", `${MIRROR}/7.0.0.json`)).status).toBe(404);
});

it("asks no host that is not named, and reaches no private network that is not allowed", {
  timeout: 60_000,
}, async () => {
  const { call } = await start([]);
  const other = "/terraform/v1/upstream/other.example.com/acme/demo/index.json";
  expect((await call("GET", other)).status).toBe(404);
  const refused = await call("GET", `${MIRROR}/index.json`);
  expect([refused.status, refused.text]).toEqual([
    502,
    expect.stringContaining("must not be reached"),
  ]);
});

it("answers as a provider registry, with what the publisher signed, under both addresses", {
  timeout: 60_000,
}, async () => {
  const namespaces = { upstreamNamespaces: [`Vendor=${HOST}/acme`] };
  const { call, origin, archive, server } = await start(undefined, namespaces);
  const own = "/terraform/v1/providers/vendor/demo";
  expect((await call("GET", `${own}/versions`, { token: "" })).status).toBe(401);
  const versions = (await call("GET", `${own}/versions`)).json["versions"];
  expect(versions).toEqual([
    { version: "1.0.0", protocols: ["5.0"], platforms: [{ os: "linux", arch: "amd64" }] },
  ]);
  const path = "1.0.0/download/linux/amd64";
  const { json } = await call("GET", `${PROVIDERS}/${path}`);
  const source = await origin.call("GET", `/terraform/v1/providers/acme/demo/${path}`);
  for (const name of ["protocols", "filename", "shasum", "signing_keys"]) {
    expect(json[name]).toEqual(source.json[name]);
  }
  const bytesOf = async (from: string, url: unknown) =>
    Buffer.from(await (await fetch(from + String(url))).arrayBuffer());
  for (const name of ["shasums_url", "shasums_signature_url"]) {
    const given = await bytesOf(server.url, json[name]);
    expect(given.equals(await bytesOf(origin.server.url, source.json[name])), name).toBe(true);
  }
  expect(new Uint8Array(await bytesOf(server.url, json["download_url"]))).toEqual(archive);
  await origin.server.close();
  expect((await call("GET", `${own}/${path}`)).json["shasum"]).toBe(json["shasum"]);
  expect((await call("GET", `${own}/1.0.0/download/linux/arm64`)).status).toBe(502);
  expect((await call("GET", `${own}/1.0.0/download/linux/..%2f..`)).status).toBe(404);
  expect((await call("GET", "/terraform/v1/providers/acme/demo/versions")).status).toBe(404);
});

it("what an account publishes in the namespace of a registry is not served, also by the network mirror", {
  timeout: 60_000,
}, async () => {
  const { call, archive, server, tokenOf } = await start(undefined, {
    upstreamNamespaces: [`vendor=${HOST}/acme`],
    mirrorHosts: ["own.example.com"],
  });
  const claim = async (token?: string) =>
    call("PUT", "/api/v1/registry/namespaces/vendor", { body: { public: true }, token });
  expect((await claim(await tokenOf("admin"))).text).toContain("is reserved");
  // Granted by an operator, or from a time before the namespace was that of the registry.
  expect((await claim()).status).toBe(200);
  const content = Buffer.from("#!/bin/sh\n");
  const entry = { path: "terraform-provider-demo_v9.9.9", mode: 0o755, content };
  const body = Uint8Array.from(await buffer(packArchive([entry])));
  const headers = { "content-type": "application/zip" };
  const path = "/api/v1/registry/providers/vendor/demo/9.9.9/linux_amd64";
  expect((await call("PUT", path, { body, headers })).status).toBeLessThan(300);
  const own = "/terraform/v1/mirror/own.example.com/vendor/demo";
  expect((await call("GET", `${own}/index.json`, { token: "" })).status).toBe(401);
  expect((await call("GET", `${own}/index.json`)).json).toEqual({ versions: { "1.0.0": {} } });
  expect((await call("GET", `${own}/9.9.9.json`)).status).toBe(404);
  const { json } = await call("GET", `${own}/1.0.0.json`);
  const { linux_amd64: found } = json["archives"] as Record<string, { url: string }>;
  const given = await fetch(server.url + (found?.url ?? ""));
  expect(new Uint8Array(await given.arrayBuffer())).toEqual(archive);
  const other = "/terraform/v1/mirror/other.example.com/vendor/demo/index.json";
  expect((await call("GET", other)).status).toBe(404);
  const shadow = startApi("none", {
    upstreamHosts: [HOST],
    upstreamNamespaces: [`Private-Provider=${HOST}`],
  });
  await expect(shadow).rejects.toThrow("that of private providers");
});

it("the address of what the publisher signed cannot be changed", { timeout: 60_000 }, async () => {
  const { call, packageOf } = await start();
  expect((await packageOf("1.0.0")).status).toBe(200);
  const { json } = await call("GET", `${PROVIDERS}/1.0.0/download/linux/amd64`);
  const changed = String(json["shasums_url"])
    .replace(/\/[^/]*$/, "")
    .slice(0, -2);
  expect((await call("GET", `${changed}/x`)).status).toBe(403);
});

it("evicts what was not used for longest, and fetches it again for who asks", {
  timeout: 60_000,
}, async () => {
  const { call, publish, packageOf, tokenOf, server } = await start(undefined, {
    upstreamCacheMib: 1,
  });
  await publish("1.1.0");
  await publish("1.2.0");
  for (const version of ["1.0.0", "1.1.0", "1.2.0"]) {
    const found = await packageOf(version);
    expect((await found.arrayBuffer()).byteLength).toBeGreaterThan(400_000);
  }
  const cached = async () => {
    const { packages } = (await call("GET", "/api/v1/registry/upstream-packages")).json as {
      packages: { version: string; bytes: number }[];
    };
    return packages.map(({ version }) => version);
  };
  expect(await cached()).toEqual(["1.1.0", "1.2.0"]);
  expect((await packageOf("1.0.0")).status).toBe(200);
  expect(await cached()).toEqual(["1.2.0", "1.0.0"]);
  const evict = async (body: object, token?: string) =>
    call("POST", "/api/v1/registry/upstream-packages/evictions", {
      body,
      ...(token !== undefined && { token }),
    });
  expect((await evict({}, await tokenOf("deployer"))).status).toBe(403);
  expect((await evict({ version: "1.2.0" })).status).toBe(400);
  expect((await evict({ provider: "a/b/c/d" })).status).toBe(400);
  const provider = `${HOST}/acme/demo`;
  const { json } = await evict({ provider, version: "1.2.0" });
  expect(json["packages"]).toMatchObject([{ provider, version: "1.2.0", platform: "linux_amd64" }]);
  await evict({});
  expect(await cached()).toEqual([]);
  expect((await packageOf("1.0.0")).status).toBe(200);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('stackwright_upstream_packages_total{event="evicted"} 4');
  expect(metrics).toContain('stackwright_upstream_packages_total{event="fetched"} 5');
});

it("says that the account has no room for a package", { timeout: 60_000 }, async () => {
  const { packageOf } = await start(undefined, { quotas: { blobBytes: 1_000 } });
  const refused = await packageOf("1.0.0");
  expect([refused.status, await refused.text()]).toEqual([507, expect.stringContaining("quota")]);
});
