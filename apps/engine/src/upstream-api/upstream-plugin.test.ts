import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { packArchive } from "@stackwright/provider-source";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";

const HOST = "registry.example.com";
const MIRROR = `/terraform/v1/upstream/${HOST}/acme/demo`;
const QUARANTINE = `/api/v1/registry/quarantine/${HOST}/acme/demo`;

/** A server whose registry has a provider, and one that mirrors it. */
async function start(networks = ["127.0.0.0/8"]) {
  const origin = await startApi("none");
  const claim = { body: { public: true } };
  expect((await origin.call("PUT", "/api/v1/registry/namespaces/acme", claim)).status).toBe(200);
  const publish = async (version: string) => {
    const content = Buffer.from(`#!/bin/sh\n# ${version}\n`);
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
