import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Role } from "../access/principal.ts";
import { createRegistryFixture, TEST_REGION } from "../testing/registry-fixture.ts";
import { stackwrightApiPlugin } from "./stackwright-api-plugin.ts";

async function start() {
  const storage = createMemoryStorage();
  const fixture = await createRegistryFixture(storage);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  const { registry, credentials, authenticator } = fixture;
  const app = fixture.server();
  await app.register(stackwrightApiPlugin, {
    registry,
    credentials,
    authenticator,
    region: TEST_REGION,
  });
  const post = async (url: string, payload: object, ...roles: readonly Role[]) =>
    app.inject({
      method: "POST",
      url,
      headers: {
        ...(await fixture.authorization("acme", ...roles)),
        "content-type": "application/json",
      },
      payload,
    });
  return { credentials, post };
}

describe("a token for parts of the store", () => {
  it("is given by the admin of the account, for its own projects and regions", async () => {
    const { credentials, post } = await start();
    const storageScopes = [
      { project: "web", access: "read" },
      { project: "*" },
      { region: "local" },
    ];
    const body = { roles: ["worker"], storage_scopes: storageScopes };
    const answer = await post("/tokens", body, "admin");
    expect(answer.statusCode).toBe(201);
    const owner = await credentials.tokenOwner(answer.json<{ token: string }>().token);
    const place = { partition: "acme", peerName: "local", namePrefix: "" };
    expect(owner?.scopes).toEqual([
      { ...place, namespace: "web", kinds: ["@engine"], access: "read" },
      { ...place, namespace: "*", kinds: ["@engine"], access: "write" },
      { ...place, namespace: "local", kinds: ["@registry"], access: "write" },
    ]);
    expect(owner?.principal.roles).toEqual(["worker"]);
  });

  it.each([
    [{ roles: ["worker"], storage_scopes: [{ project: "web" }], account: "other" }, 403],
    [{ roles: ["site-admin", "worker"], storage_scopes: [{ project: "web" }] }, 403],
    [{ roles: ["registry:reader"], storage_scopes: [{ project: "web" }] }, 400],
    [{ roles: ["worker"], storage_scopes: [{}] }, 400],
    [{ roles: ["worker"], storage_scopes: [{ project: "web", region: "local" }] }, 400],
    [{ roles: ["worker"], storage_scopes: [{ project: "../x" }] }, 400],
    [{ roles: ["worker"], storage_scopes: [{ project: "~account" }] }, 400],
    [{ roles: ["worker"], storage_scopes: [{ region: "*" }] }, 400],
    [{ roles: ["worker"], storage_scopes: [{ project: "web", kinds: ["AccessKey"] }] }, 400],
    [{ roles: ["worker"], storage_scopes: [{ project: "web", access: "all" }] }, 400],
    [{ roles: ["worker"], storage_scopes: "all" }, 400],
  ])("is refused for what an admin cannot give: %j", async (body, status) => {
    const { post } = await start();
    expect((await post("/tokens", body, "admin")).statusCode).toBe(status);
  });

  it("is no access key", async () => {
    const { post } = await start();
    const body = { roles: ["worker"], storage_scopes: [{ project: "web" }] };
    expect((await post("/access-keys", body, "admin")).statusCode).toBe(400);
  });
});
