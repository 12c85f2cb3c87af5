import { randomBytes } from "node:crypto";
import { signRequest } from "@stackwright/request-signing";
import type { Resource } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createAuthenticator } from "../access/authenticator.ts";
import { CredentialStore } from "../access/credentials.ts";
import { createKeyRing } from "../access/key-ring.ts";
import type { Role } from "../access/principal.ts";
import { SharedSecrets } from "../access/shared-secrets.ts";
import { createStoreReplayGuard, sweepSignatures } from "../access/store-replay-guard.ts";
import { SCHEMA_KIND } from "../domain/kinds.ts";
import { RECORD_BLOB_KINDS } from "../domain/record-store.ts";
import { schemaDigest } from "../domain/schema-cache.ts";
import { scopeTenancy } from "../domain/scope.ts";
import { createRegistry } from "../registry.ts";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_CONTEXT,
  TEST_REGION,
} from "../testing/registry-fixture.ts";
import { stackwrightApiPlugin } from "./stackwright-api-plugin.ts";

const URN = `urn:fss:${TEST_REGION}:a61dfe3154de42829367056598d5040f:function:default:test:latest`;
const scope = { account: "acme", region: TEST_REGION };
const at = { name: "hello", version: "1.0.0" };

describe("our own API", () => {
  let fixture: RegistryFixture;
  let server: FastifyInstance;

  beforeEach(async () => {
    const storage = createMemoryStorage();
    fixture = await createRegistryFixture(storage);
    onTestFinished(async () => {
      await fixture[Symbol.asyncDispose]();
      await storage.close();
    });
    const { registry, authenticator, credentials } = fixture;
    server = fixture.server();
    await server.register(stackwrightApiPlugin, {
      registry,
      authenticator,
      credentials,
      region: TEST_REGION,
    });
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    await registry.createProvider(scope, input, TEST_CONTEXT);
  });

  async function send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    url: string,
    body?: object,
    [account, role]: [string, Role] = ["acme", "admin"],
  ): Promise<LightMyRequestResponse> {
    const headers = await fixture.authorization(account, role);
    return server.inject({
      method,
      url,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { payload: body }),
    });
  }

  it("makes keys that work, rotates them with an overlap, and revokes them", async () => {
    const { clock, credentials } = fixture;
    const made = (await send("POST", "/access-keys", { roles: ["reader"] })).json<{
      access_key: string;
      secret_key: string;
    }>();
    const valid = async (key: string): Promise<boolean> =>
      (await credentials.keyWithSecret(key)) !== undefined;
    expect((await credentials.keyWithSecret(made.access_key))?.secret).toBe(made.secret_key);
    const rotated = (
      await send("POST", `/access-keys/${made.access_key}/rotation`, { overlap_hours: 1 })
    ).json<{ access_key: string }>();
    expect([await valid(made.access_key), await valid(rotated.access_key)]).toEqual([true, true]);
    clock.setWallMs(Date.now() + 2 * 3_600_000);
    expect([await valid(made.access_key), await valid(rotated.access_key)]).toEqual([false, true]);
    clock.setWallMs(undefined);
    expect((await send("DELETE", `/credentials/${rotated.access_key}`)).statusCode).toBe(204);
    expect(await valid(rotated.access_key)).toBe(false);
    const listed = (await send("GET", "/credentials")).body;
    expect(listed).toContain(made.access_key);
    expect(listed).not.toContain(made.secret_key);
  });

  it("makes tokens that expire", async () => {
    const body = { roles: ["reader"], expires_in_days: 1 };
    const { token } = (await send("POST", "/tokens", body)).json<{ token: string }>();
    expect((await fixture.credentials.tokenOwner(token))?.principal.account).toBe("acme");
    fixture.clock.setWallMs(Date.now() + 2 * 86_400_000);
    expect(await fixture.credentials.tokenOwner(token)).toBeUndefined();
  });

  it("refuses to grant what the caller does not have", async () => {
    const operator = await fixture.credentials.createKey({ account: "acme", roles: ["operator"] });
    for (const [method, url, body, who, status] of [
      ["POST", "/tokens", { roles: ["operator"] }, ["acme", "admin"], 403],
      ["POST", "/tokens", { roles: ["worker"] }, ["acme", "admin"], 403],
      ["POST", "/tokens", { roles: ["worker"], storage_scopes: [] }, ["acme", "admin"], 403],
      ["POST", "/tokens", { roles: ["reader"], account: "other" }, ["acme", "admin"], 403],
      ["POST", "/tokens", { roles: ["reader"] }, ["acme", "publisher"], 403],
      ["POST", "/tokens", { roles: ["king"] }, ["acme", "admin"], 400],
      ["POST", "/tokens", { roles: ["reader"], surprise: 1 }, ["acme", "admin"], 400],
      ["POST", `/access-keys/${operator.accessKey}/rotation`, {}, ["acme", "admin"], 403],
      ["DELETE", `/credentials/${operator.accessKey}`, undefined, ["acme", "admin"], 403],
      ["DELETE", `/credentials/${operator.accessKey}`, undefined, ["other", "admin"], 404],
      ["GET", "/audit", undefined, ["acme", "publisher"], 403],
      ["POST", "/tokens", { roles: ["reader"], account: "other" }, ["acme", "operator"], 201],
    ] as ["POST" | "GET" | "DELETE", string, object | undefined, [string, Role], number][]) {
      const answer = await send(method, url, body, who);
      expect([method, url, who, answer.statusCode]).toEqual([method, url, who, status]);
    }
  });

  it("lets a credential of some projects change nothing of the account, and see its own credentials", async () => {
    const { credentials } = fixture;
    await credentials.createKey({ account: "acme", roles: ["reader"] });
    const { token, tokenId } = await credentials.createToken({
      account: "acme",
      roles: ["admin"],
      projects: ["web"],
    });
    const headers = { "x-auth-token": token };
    const get = async (url: string) => server.inject({ method: "GET", url, headers });
    expect((await get("/audit")).statusCode).toBe(403);
    expect((await get("/private-providers/hello/uses")).statusCode).toBe(200);
    const { credentials: seen } = (await get("/credentials")).json<{
      credentials: { actor: string }[];
    }>();
    expect(seen.map(({ actor }) => actor)).toEqual([tokenId]);
    const url = "/private-providers/hello/versions/1.0.0/checks";
    expect((await server.inject({ method: "POST", url, headers })).statusCode).toBe(403);
  });

  it("says which member of a body is not known, and which there are", async () => {
    const { accessKey } = await fixture.credentials.createKey({
      account: "acme",
      roles: ["reader"],
    });
    const uses = "/private-providers/hello/versions/1.0.0/uses";
    for (const [method, url, known] of [
      ["POST", "/tokens", "roles, account, projects, description, expires_in_days, storage_scopes"],
      ["POST", "/access-keys", "roles, account, projects, description, expires_in_days"],
      ["POST", `/access-keys/${accessKey}/rotation`, "overlap_hours"],
      ["PUT", uses, "user, provider_id"],
    ] as const) {
      const answer = await send(method, url, { name: "ci", roles: ["reader"] });
      const { error } = answer.json<{ error: { message: string } }>();
      expect([url, answer.statusCode]).toEqual([url, 400]);
      expect(error.message).toMatch(/^"(?:name|roles)" is not a parameter of this request/);
      expect(error.message).toContain(`its parameters are ${known}`);
    }
  });

  it("takes no number beyond its bounds, and gives each refusal a reason", async () => {
    const { accessKey } = await fixture.credentials.createKey({
      account: "acme",
      roles: ["reader"],
    });
    const days = (value: string) => `{"roles":["reader"],"expires_in_days":${value}}`;
    const hours = (value: string) => `{"overlap_hours":${value}}`;
    const headers = {
      ...(await fixture.authorization("acme", "admin")),
      "content-type": "application/json",
    };
    for (const [url, payload, status] of [
      ["/tokens", days("1e300"), 400],
      ["/access-keys", days("1e300"), 400],
      ["/tokens", days("1e999"), 400],
      ["/tokens", days("36500.1"), 400],
      ["/tokens", days("0"), 400],
      ["/tokens", days("-1"), 400],
      ["/tokens", days('"1"'), 400],
      ["/tokens", days("null"), 400],
      ["/tokens", days("36500"), 201],
      ["/tokens", days("1e-9"), 201],
      [`/access-keys/${accessKey}/rotation`, hours("1e300"), 400],
      [`/access-keys/${accessKey}/rotation`, hours("-0.5"), 400],
      [`/access-keys/${accessKey}/rotation`, hours("2160.5"), 400],
      [`/access-keys/${accessKey}/rotation`, hours("2160"), 201],
    ] as const) {
      const answer = await server.inject({ method: "POST", url, headers, payload });
      expect([url, payload, answer.statusCode]).toEqual([url, payload, status]);
      if (status === 201) continue;
      expect(answer.json()).toMatchObject({
        error: {
          code: "REGISTRY_INVALID_FIELD",
          message: expect.stringMatching(/^(?:expires_in_days|overlap_hours) must be /) as string,
        },
      });
    }
    const input = { account: "acme", roles: ["reader"] as const };
    for (const expireTimeMs of [Number.NaN, Infinity, -1, 1e300]) {
      await expect(fixture.credentials.createKey({ ...input, expireTimeMs })).rejects.toMatchObject(
        {
          code: "REGISTRY_INVALID_FIELD",
        },
      );
      await expect(fixture.credentials.rotateKey(accessKey, expireTimeMs * 1e9)).rejects.toThrow();
    }
  });

  it("lets credentials change the uses of their own projects alone, and readers none", async () => {
    const url = "/private-providers/hello/versions/1.0.0/uses";
    const uses = async (): Promise<object[]> =>
      (await send("GET", "/private-providers/hello/uses")).json<{ uses: object[] }>().uses;
    const as = async (roles: readonly Role[], projects: readonly string[] = []) => {
      const { token, tokenId } = await fixture.credentials.createToken({
        account: "acme",
        roles,
        projects,
      });
      const headers = { "x-auth-token": token, "content-type": "application/json" };
      const put = async (user: string): Promise<number> =>
        (await server.inject({ method: "PUT", url, headers, payload: { user } })).statusCode;
      const remove = async (user: string): Promise<number> => {
        const { "x-auth-token": auth } = headers;
        const target = `${url}?user=${encodeURIComponent(user)}`;
        const sent = { method: "DELETE", url: target, headers: { "x-auth-token": auth } } as const;
        return (await server.inject(sent)).statusCode;
      };
      return { tokenId, put, remove };
    };
    const [reader, shop, all] = [
      await as(["reader"]),
      await as(["deployer"], ["shop", "web"]),
      await as(["deployer"]),
    ];
    expect(await all.put("acme/bank/1")).toBe(204);
    for (const user of ["acme/bank/1", "acme/shop/1", "x"]) {
      expect([await reader.put(user), await reader.remove(user)]).toEqual([403, 403]);
    }
    for (const user of ["acme/bank/1", "shop", "acme/shop", "acme/bank/shop", "a/shop/1/bank/1"]) {
      expect([user, await shop.put(user), await shop.remove(user)]).toEqual([user, 403, 403]);
    }
    expect([await shop.put("acme/shop/1"), await shop.put("acme/web/2")]).toEqual([204, 204]);
    expect(await uses()).toMatchObject([
      { user: "acme/bank/1", actor: all.tokenId },
      { user: "acme/shop/1", actor: shop.tokenId },
      { user: "acme/web/2", actor: shop.tokenId },
    ]);
    expect([await shop.remove("acme/web/2"), await shop.remove("acme/web/2")]).toEqual([204, 204]);
    expect(await all.remove("acme/shop/1")).toBe(204);
    expect(await uses()).toMatchObject([{ user: "acme/bank/1" }]);
    const { entries } = (await send("GET", "/audit")).json<{ entries: Record<string, string>[] }>();
    const changes = entries.filter(({ action }) => action?.startsWith("use."));
    expect(changes.map(({ action, target, actor }) => [action, target, actor])).toEqual([
      ["use.record", "acme/bank/1", all.tokenId],
      ["use.record", "acme/shop/1", shop.tokenId],
      ["use.record", "acme/web/2", shop.tokenId],
      ["use.release", "acme/web/2", shop.tokenId],
      ["use.release", "acme/shop/1", all.tokenId],
    ]);
  });

  it("shows a credential of some projects the uses of their stacks alone", async () => {
    for (const user of ["acme/bank/1", "acme/shop/1", "acme/web/2", "acme/shop", "shop"]) {
      await fixture.registry.recordUsage(scope, at, user);
    }
    const { token } = await fixture.credentials.createToken({
      account: "acme",
      roles: ["reader"],
      projects: ["shop"],
    });
    const usersAt = async (query: string) => {
      const url = `/private-providers/hello/uses${query}`;
      const answer = await server.inject({
        method: "GET",
        url,
        headers: { "x-auth-token": token },
      });
      return answer.json<{ uses: { user: string }[] }>().uses.map(({ user }) => user);
    };
    expect(await usersAt("")).toEqual(["acme/shop/1"]);
    expect(await usersAt("?user=acme/bank/1")).toEqual([]);
    expect((await send("GET", "/private-providers/hello/uses")).json()).toMatchObject({
      uses: { length: 5 },
    });
  });

  it("shows uses and the audit trail of the account", async () => {
    await fixture.registry.recordUsage(scope, at, "stack/one");
    expect((await send("GET", "/private-providers/hello/uses")).json()).toMatchObject({
      uses: [{ user: "stack/one", version: "1.0.0" }],
    });
    const { entries } = (await send("GET", "/audit")).json<{ entries: { action: string }[] }>();
    expect(entries.map(({ action }) => action)).toContain("provider.create");
    const others = (await send("GET", "/audit", undefined, ["other", "admin"])).json<{
      entries: unknown[];
    }>();
    expect(others.entries).toEqual([]);
  });

  it("has no health without a probe", async () => {
    const url = "/private-providers/hello/versions/1.0.0";
    expect((await send("GET", `${url}/health`)).json()).toEqual({ health: null });
    expect((await send("POST", `${url}/checks`)).statusCode).toBe(404);
  });
});

describe("health of functions", () => {
  it("is stored, counted, and not asked for more often than wanted", async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage);
    let asked = 0;
    let failing = true;
    const registry = createRegistry({
      storage,
      blobs: fixture.registry.blobs,
      keys: createKeyRing([randomBytes(32)]),
      clock: fixture.clock,
      probe: {
        async probe(version) {
          asked += 1;
          expect(version).toMatchObject({ functionUrn: URN, account: "acme" });
          if (failing) throw new Error("no answer");
          return { schemaDigest: "abc" };
        },
      },
    });
    // Before there is a version nothing is stored of a check.
    expect(await registry.checkFunction(scope, URN)).toMatchObject({
      healthy: false,
      problem: "no answer",
    });
    await expect(registry.checkFunction(scope, "urn:elsewhere")).rejects.toMatchObject({
      code: "REGISTRY_INVALID_FIELD",
    });
    expect(asked).toBe(1);
    asked = 0;
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    await registry.createProvider(scope, input, TEST_CONTEXT);
    expect(await registry.showHealth(scope, at)).toBeUndefined();
    await registry.checkHealth(scope, at);
    expect(await registry.checkHealth(scope, at)).toMatchObject({ healthy: false, failures: 2 });
    failing = false;
    expect(await registry.checkHealth(scope, at)).toMatchObject({ healthy: true, failures: 0 });
    expect(await registry.showHealth(scope, at)).toMatchObject({ schemaDigest: "abc" });
    expect([await registry.checkAllHealth(60_000), asked]).toEqual([0, 3]);
    fixture.clock.setWallMs(Date.now() + 120_000);
    expect([await registry.checkAllHealth(60_000), asked]).toEqual([1, 4]);
    await registry.deleteProvider(scope, at, TEST_CONTEXT);
    expect((await registry.sweep()).leftovers).toBe(1);
  });
});

describe("schemas", () => {
  it("are kept under the digest of their version, the first one for good", async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage);
    const { registry } = fixture;
    const digest = schemaDigest({ versionId: "v1", functionUrn: URN });
    expect(schemaDigest({ versionId: "v2", functionUrn: URN })).not.toBe(digest);
    expect(await registry.readSchema(scope, digest)).toBeUndefined();
    const schema = Buffer.alloc(100_000, "s");
    await registry.writeSchema(scope, digest, schema);
    await registry.writeSchema(scope, digest, Buffer.from("other"));
    expect((await registry.readSchema(scope, digest))?.equals(schema)).toBe(true);
    const [stored] = await storage.list("strong", SCHEMA_KIND.type, scopeTenancy(scope), "");
    const kind = RECORD_BLOB_KINDS.find(({ type }) => type === SCHEMA_KIND.type);
    expect([...(kind?.blobs?.(stored as Resource) ?? [])]).toHaveLength(1);
    expect(await registry.readSchema({ ...scope, account: "other" }, digest)).toBeUndefined();
  });
});

describe("stored secrets", () => {
  it("are unreadable without their key, and with an older one until it is gone", async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage);
    const { records } = fixture.registry.parts;
    const { clock } = fixture;
    const [older, newer] = [randomBytes(32), randomBytes(32)];
    const open = (...keys: Uint8Array[]) =>
      new CredentialStore({ records, clock, keys: createKeyRing(keys), cacheMs: 0 });
    const input = { account: "acme", roles: ["reader"] as const };
    const { accessKey, secretKey } = await open(older).createKey(input);
    expect((await open(newer, older).keyWithSecret(accessKey))?.secret).toBe(secretKey);
    await expect(open(newer).keyWithSecret(accessKey)).rejects.toMatchObject({
      code: "REGISTRY_KEY_MISSING",
    });
    await using snapshot = await storage.snapshot();
    for await (const resource of snapshot) {
      expect(Buffer.from(resource.data?.value ?? []).includes(secretKey)).toBe(false);
    }
  });

  it("of the registry are the same for all instances, made by the first one", async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage);
    const { records, clock } = fixture.registry.parts;
    const keys = createKeyRing([randomBytes(32)]);
    const instances = Array.from({ length: 5 }, () => new SharedSecrets(records, keys, clock));
    const secrets = await Promise.all(instances.map((instance) => instance.key("x")));
    expect(new Set(secrets.map((secret) => secret.toString("hex"))).size).toBe(1);
  });
});

describe("signatures that were used", () => {
  it("are known to all instances on one store, until they are too old anyway", async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage);
    const { records } = fixture.registry.parts;
    const [one, other] = [createStoreReplayGuard(records), createStoreReplayGuard(records)];
    const use = { accessKey: "AK", signature: "s1", expiresAtMs: Date.now() + 1000 };
    const first = await Promise.all([one.firstUse(use), other.firstUse(use)]);
    expect(first.filter(Boolean)).toHaveLength(1);
    expect(await one.firstUse({ ...use, signature: "s2" })).toBe(true);
    expect(await sweepSignatures(records, fixture.clock)).toBe(0);
    // A server whose clock is behind may accept them still: an hour is allowed for that.
    fixture.clock.setWallMs(use.expiresAtMs + 3_600_000);
    expect(await sweepSignatures(records, fixture.clock)).toBe(0);
    expect(await one.firstUse(use)).toBe(false);
    fixture.clock.setWallMs(use.expiresAtMs + 3_600_001);
    expect(await sweepSignatures(records, fixture.clock)).toBe(2);
  });

  it("are remembered by default: no other instance and no later one accepts them again", async () => {
    await using storage = createMemoryStorage();
    await using fixture = await createRegistryFixture(storage);
    const { credentials, clock } = fixture;
    const key = await credentials.createKey({ account: "acme", roles: ["admin"] });
    const plain = { method: "DELETE", target: "/x", headers: [["Host", "h"]] as const };
    const body = new Uint8Array();
    const signed = { ...plain, body, headers: signRequest({ ...plain, body }, key) };
    const instance = () => createAuthenticator({ credentials, clock, region: TEST_REGION });
    const [one, other] = [instance(), instance()];
    const attempts = [one, other, one, other].map(async (auth) => auth.authenticate(signed));
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(instance().authenticate(signed)).rejects.toMatchObject({
      code: "REGISTRY_UNAUTHENTICATED",
      cause: { code: "SIGNING_REPLAYED" },
    });
  });
});
