import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyInstance } from "fastify";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { CredentialStore } from "../access/credentials.ts";
import { createRegistryFixture, TEST_REGION } from "../testing/registry-fixture.ts";
import { stackwrightApiPlugin } from "./stackwright-api-plugin.ts";

describe("an admin that is limited to projects", () => {
  let credentials: CredentialStore;
  let app: FastifyInstance;
  let token: string;

  beforeEach(async () => {
    const storage = createMemoryStorage();
    const fixture = await createRegistryFixture(storage);
    onTestFinished(async () => {
      await fixture[Symbol.asyncDispose]();
      await storage.close();
    });
    ({ credentials } = fixture);
    const { registry, authenticator } = fixture;
    app = fixture.server();
    const options = { registry, credentials, authenticator, region: TEST_REGION };
    await app.register(stackwrightApiPlugin, options);
    const limited = { account: "acme", roles: ["admin"], projects: ["web", "shop"] } as const;
    ({ token } = await credentials.createToken(limited));
  });

  const send = async (method: "POST" | "DELETE", url: string, payload?: object) =>
    app.inject({ method, url, headers: { "x-auth-token": token }, ...(payload && { payload }) });

  it("makes credentials for its projects, by default for all of them", async () => {
    const one = { roles: ["registry:admin"], projects: ["web"] };
    expect((await send("POST", "/access-keys", one)).statusCode).toBe(201);
    const answer = await send("POST", "/tokens", { roles: ["registry:reader"] });
    expect(answer.statusCode).toBe(201);
    const made = await credentials.tokenOwner(answer.json<{ token: string }>().token);
    expect(made?.principal.projects).toEqual(["web", "shop"]);
    const storage_scopes = [
      { project: "web", access: "write" },
      { region: TEST_REGION, access: "read" },
    ];
    const worker = await send("POST", "/tokens", { roles: ["worker"], storage_scopes });
    expect(worker.statusCode).toBe(201);
  });

  it.each([
    ["/access-keys", { roles: ["registry:reader"], projects: [] }],
    ["/access-keys", { roles: ["registry:reader"], projects: ["web", "bank"] }],
    ["/tokens", { roles: ["registry:admin"], projects: [] }],
    ["/tokens", { roles: ["registry:deployer"], projects: ["bank"] }],
    ["/tokens", { roles: ["worker"], storage_scopes: [{ project: "bank" }] }],
    ["/tokens", { roles: ["worker"], storage_scopes: [{ project: "*" }] }],
    ["/tokens", { roles: ["worker"], storage_scopes: [{ region: TEST_REGION }] }],
  ])("makes none that reaches further: %s %j", async (url, body) => {
    const before = await credentials.list();
    const answer = await send("POST", url, body);
    expect([answer.statusCode, answer.json()]).toMatchObject([
      403,
      { error: { code: "REGISTRY_FORBIDDEN" } },
    ]);
    expect(await credentials.list()).toEqual(before);
  });

  it("neither rotates nor revokes those that reach further", async () => {
    const make = async (...projects: string[]): Promise<string> =>
      (await credentials.createKey({ account: "acme", roles: ["admin"], projects })).accessKey;
    for (const wider of [await make(), await make("bank"), await make("web", "bank")]) {
      expect((await send("POST", `/access-keys/${wider}/rotation`, {})).statusCode).toBe(403);
      expect((await send("DELETE", `/credentials/${wider}`)).statusCode).toBe(403);
      expect(await credentials.keyWithSecret(wider)).toBeDefined();
    }
    const own = await make("web");
    expect((await send("POST", `/access-keys/${own}/rotation`, {})).statusCode).toBe(201);
    expect((await send("DELETE", `/credentials/${own}`)).statusCode).toBe(204);
  });

  it("reaches no further as an operator", async () => {
    const roles = ["operator"] as const;
    ({ token } = await credentials.createToken({ account: "acme", roles, projects: ["web"] }));
    const other = { roles: ["registry:reader"], account: "other", projects: ["web"] };
    expect((await send("POST", "/tokens", other)).statusCode).toBe(403);
    const all = { roles: ["site-admin"], projects: [] };
    expect((await send("POST", "/tokens", all)).statusCode).toBe(403);
  });
});
