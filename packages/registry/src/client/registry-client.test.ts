import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@stackwright/base/clock";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { ProviderAddress } from "@stackwright/provider-source";
import { createMemoryStorage } from "@stackwright/storage/memory";
import fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Role } from "../access/principal.ts";
import { rfsPlugin } from "../rfs/rfs-plugin.ts";
import { stackwrightApiPlugin } from "../stackwright-api/stackwright-api-plugin.ts";
import { createRegistryFixture, TEST_CONTEXT, TEST_REGION } from "../testing/registry-fixture.ts";
import { createRegistryClient, type RegistryClientOptions } from "./registry-client.ts";

const URN = `urn:fss:${TEST_REGION}:a61dfe3154de42829367056598d5040f:function:default:test:latest`;
const HELLO = ProviderAddress.parse("huawei.com/private-provider/hello");
const scope = { account: "acme", region: TEST_REGION };
const at = { name: "hello", version: "1.0.0" };
const key = { accessKey: "AK1", secretKey: "s3cret" };
const QUICK = { attemptMs: 300, deadlineMs: 500 };

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** Something that listens on this machine, whatever it may be. */
async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  cleanup.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function setUp(tls?: { readonly cert: string; readonly key: string }) {
  const storage = cleanup.use(createMemoryStorage());
  const fixture = cleanup.use(await createRegistryFixture(storage));
  const { registry, credentials, authenticator } = fixture;
  const server =
    tls === undefined
      ? fixture.server()
      : (fastify({
          https: tls,
          routerOptions: { maxParamLength: 1024 },
        }) as unknown as FastifyInstance);
  const common = { registry, authenticator, region: TEST_REGION };
  await server.register(rfsPlugin, { ...common, prefix: "/v1" });
  await server.register(stackwrightApiPlugin, {
    ...common,
    credentials,
    prefix: "/api/v1/registry",
  });
  const listening = await server.listen({ host: "127.0.0.1", port: 0 });
  // The name that is in the certificate.
  const url = listening.replace("https://127.0.0.1", "https://localhost");
  cleanup.defer(async () => server.close());
  await registry.createProvider(
    scope,
    { name: "hello", version: "1.0.0", functionUrn: URN },
    TEST_CONTEXT,
  );
  const clientOf = async (
    account: string,
    role: Role = "deployer",
    options: Partial<RegistryClientOptions> = {},
  ) => {
    const made = await credentials.createKey({ account, roles: [role] });
    return createRegistryClient({ url, key: made, ...options });
  };
  return { ...fixture, url, clientOf };
}

describe("a client of a registry", () => {
  let given: Awaited<ReturnType<typeof setUp>>;
  beforeEach(async () => {
    given = await setUp();
  });

  it("finds the function of a version, and distinguishes versions of one number", async () => {
    const { registry, clientOf } = given;
    const client = await clientOf("acme");
    const found = await client.resolvePrivateProvider(HELLO, "1.0.0");
    expect(found.functionUrn).toBe(URN);
    await registry.deleteVersion(scope, at, TEST_CONTEXT);
    await registry.createVersion(scope, at, { version: "1.0.0", functionUrn: URN }, TEST_CONTEXT);
    const again = await client.resolvePrivateProvider(HELLO, "1.0.0");
    expect(again.providerId).toBe(found.providerId);
    expect(again.versionId).not.toBe(found.versionId);
  });

  it("says what there is instead of a version that is unknown or was deleted", async () => {
    const { registry, clientOf, url } = given;
    const client = await clientOf("acme");
    await registry.createVersion(scope, at, { version: "2.0.0", functionUrn: URN }, TEST_CONTEXT);
    await registry.deleteVersion(scope, at, TEST_CONTEXT);
    await expect(client.resolvePrivateProvider(HELLO, "1.0.0")).rejects.toMatchObject({
      code: "REGISTRY_VERSION_NOT_FOUND",
      message: `the registry ${url} has no version 1.0.0 of hello; it has 2.0.0`,
    });
  });

  it("does not find providers that are unknown, or those of others", async () => {
    const error = { code: "REGISTRY_PROVIDER_NOT_FOUND" };
    const client = await given.clientOf("acme");
    const unknown = ProviderAddress.parse("huawei.com/private-provider/nothing");
    await expect(client.resolvePrivateProvider(unknown, "1.0.0")).rejects.toMatchObject(error);
    const other = await given.clientOf("other");
    await expect(other.resolvePrivateProvider(HELLO, "1.0.0")).rejects.toMatchObject(error);
  });

  it("asks for nothing but one exact version", async () => {
    const client = createRegistryClient({ url: "http://127.0.0.1:1", key });
    await expect(client.resolvePrivateProvider(HELLO, "~> 1.0")).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_EXACT_VERSION_REQUIRED",
    });
  });

  it("records uses and deletes them, as often as it is called", async () => {
    const { registry, clientOf } = given;
    const client = await clientOf("acme");
    const { providerId } = await client.resolvePrivateProvider(HELLO, "1.0.0");
    const user = "acme/shop/01J+ä&b=c";
    const users = async () => (await registry.listUsage(scope, providerId)).map((use) => use.user);
    await client.recordUsage({ ...at, providerId }, user);
    await client.recordUsage({ ...at, providerId }, user);
    await client.recordUsage(at, "acme/shop/other");
    expect(await users()).toEqual(expect.arrayContaining([user, "acme/shop/other"]));
    expect(await client.listUsage(at.name, user)).toEqual(["1.0.0"]);
    expect(await client.listUsage(at.name, "nobody")).toEqual([]);
    await expect(client.listUsage("absent", user)).rejects.toMatchObject({
      code: "REGISTRY_PROVIDER_NOT_FOUND",
    });
    await client.deleteUsage(at, "acme/shop/other");
    await client.deleteUsage(at, user);
    await client.deleteUsage(at, user);
    expect(await users()).toEqual([]);
    const wrong = client.recordUsage({ ...at, providerId: crypto.randomUUID() }, user);
    await expect(wrong).rejects.toMatchObject({ code: "REGISTRY_ID_MISMATCH" });
    const worker = await clientOf("acme", "worker");
    await expect(worker.recordUsage(at, user)).rejects.toMatchObject({
      code: "REGISTRY_FORBIDDEN",
    });
  });

  it("reports a wrong key, and never its secret", async () => {
    const client = createRegistryClient({ url: given.url, key });
    const error: unknown = await client
      .resolvePrivateProvider(HELLO, "1.0.0")
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "REGISTRY_UNAUTHENTICATED" });
    expect(String(error)).toContain("does not accept the access key AK1");
    expect(JSON.stringify(error) + String(error)).not.toContain("s3cret");
  });

  it.each([
    [-47, "47 minutes behind the registry's"],
    [20, "20 minutes ahead of the registry's"],
  ])("tells that clocks differ by %i minutes", async (minutes, text) => {
    const clock = { ...systemClock, wallMs: () => Date.now() + minutes * 60_000 };
    const client = await given.clientOf("acme", "reader", { clock });
    await expect(client.resolvePrivateProvider(HELLO, "1.0.0")).rejects.toMatchObject({
      code: "REGISTRY_UNAUTHENTICATED",
      message: expect.stringContaining(text),
    });
  });
});

describe("a client without a registry", () => {
  it.each([
    "http://registry.example",
    "ftp://127.0.0.1",
    "https://user:pass@registry.example",
    "https://registry.example/path",
    "registry.example",
  ])("refuses the address %s", (url) => {
    expect(() => createRegistryClient({ url, key })).toThrow(
      expect.objectContaining({ code: "REGISTRY_INVALID_FIELD" }),
    );
  });

  it("gives up at the deadline, without a listener and without an answer", async () => {
    const silent = await listen(() => undefined);
    for (const [url, why] of [
      ["http://127.0.0.1:1", "ECONNREFUSED"],
      [silent, "did not answer within"],
    ] as const) {
      const client = createRegistryClient({ url, key, ...QUICK });
      await expect(client.resolvePrivateProvider(HELLO, "1.0.0")).rejects.toMatchObject({
        code: "REGISTRY_UNREACHABLE",
        retryable: true,
        message: expect.stringContaining(why),
      });
    }
  });

  it("asks again where it found an overloaded one", async () => {
    const statuses = [503, 429];
    const seen = new Set<string | undefined>();
    const url = await listen((request, response) => {
      seen.add(request.headers.authorization);
      const status = statuses.shift() ?? 200;
      response.writeHead(status, { "retry-after": "0" });
      const version = { provider_id: "p", function_graph_urn: URN, create_time: "t" };
      response.end(JSON.stringify(status === 200 ? version : {}));
    });
    const client = createRegistryClient({ url, key });
    const found = await client.resolvePrivateProvider(HELLO, "1.0.0");
    expect(found).toEqual({ providerId: "p", functionUrn: URN, versionId: "p/1.0.0/t" });
    expect(seen.size).toBe(3);
  });

  it.each<[string, RequestListener]>([
    ["a page", (_request, response) => void response.end("<html>")],
    ["another place", (_request, response) => void response.writeHead(302).end()],
    ["something else in JSON", (_request, response) => void response.end("{}")],
    ["too much", (_request, response) => void response.end(Buffer.alloc(2_000_000, 0x20))],
  ])("is not satisfied with %s", async (_name, listener) => {
    const client = createRegistryClient({ url: await listen(listener), key, ...QUICK });
    await expect(client.resolvePrivateProvider(HELLO, "1.0.0")).rejects.toMatchObject({
      code: "REGISTRY_ANSWER_INVALID",
    });
  });

  it("stops on request", async () => {
    const url = await listen(() => undefined);
    const client = createRegistryClient({ url, key });
    const stopped = new Error("stopped");
    const stop = new AbortController();
    setTimeout(() => stop.abort(stopped), 50);
    const asked = client.resolvePrivateProvider(HELLO, "1.0.0", { signal: stop.signal });
    await expect(asked).rejects.toBe(stopped);
  });

  it("trusts the authority that it is given, and no other", async () => {
    const { certificate, privateKey } = createSelfSignedIdentity({ name: "localhost" });
    const { clientOf, url } = await setUp({ cert: String(certificate), key: String(privateKey) });
    expect(url).toContain("https:");
    const client = await clientOf("acme", "reader", { ca: String(certificate) });
    expect((await client.resolvePrivateProvider(HELLO, "1.0.0")).functionUrn).toBe(URN);
    const distrustful = await clientOf("acme", "reader", QUICK);
    await expect(distrustful.resolvePrivateProvider(HELLO, "1.0.0")).rejects.toMatchObject({
      code: "REGISTRY_UNREACHABLE",
      message: expect.stringContaining("self-signed certificate"),
    });
  });
});
