import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyInstance } from "fastify";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { stackwrightApiPlugin } from "./stackwright-api/stackwright-api-plugin.ts";
import { claimNamespace } from "./terraform/namespaces.ts";
import { publishPlugin } from "./terraform/publish-plugin.ts";
import { terraformPlugin } from "./terraform/terraform-plugin.ts";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_CONTEXT,
  TEST_REGION,
} from "./testing/registry-fixture.ts";
import { SAMPLE_URN } from "./testing/schema-arbitrary.ts";

/** Texts that pass some rule for names and would be refused by the store as part of a record's name. */
const LONG = "a".repeat(600);
const LONG_VERSION = `1.0.0-${"0a".repeat(300)}`;
const WIDE = "名".repeat(60);

describe("names that cannot exist", () => {
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
    const common = { registry, authenticator, region: TEST_REGION };
    server = fixture.server();
    await server.register(terraformPlugin, { ...common, mirrorHosts: ["registry.example"] });
    await server.register(publishPlugin, { ...common, prefix: "/api" });
    await server.register(stackwrightApiPlugin, { ...common, credentials, prefix: "/api" });
    const scope = { account: "acme", region: TEST_REGION };
    const input = { name: "hello", version: "1.0.0", functionUrn: SAMPLE_URN };
    await registry.createProvider(scope, input, TEST_CONTEXT);
    const claim = { name: "tools", account: "acme", public: true };
    await claimNamespace(registry, claim, TEST_CONTEXT);
  });

  async function statusOf(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    url: string,
    payload?: object,
  ): Promise<number> {
    const headers = await fixture.authorization("acme", "operator");
    const answer = await server.inject({ method, url, headers, ...(payload && { payload }) });
    return answer.statusCode;
  }

  const PROVIDERS = "/terraform/v1/providers";
  const MIRROR = "/terraform/v1/mirror/registry.example";
  const wide = encodeURIComponent(WIDE);

  it.each([
    ["a long namespace", `${PROVIDERS}/${LONG}/thing/versions`],
    ["a long type", `${PROVIDERS}/tools/${LONG}/versions`],
    ["a wide address", `${PROVIDERS}/${wide}/${wide}/1.0.0/download/linux/amd64`],
    ["a wide type", `${PROVIDERS}/tools/${wide}/${LONG_VERSION}/download/linux/amd64`],
    ["a long version", `${PROVIDERS}/tools/thing/${LONG_VERSION}/download/linux/amd64`],
    ["a long namespace of the mirror", `${MIRROR}/${LONG}/thing/index.json`],
    ["a long version of the mirror", `${MIRROR}/tools/thing/${LONG_VERSION}.json`],
    ["a namespace with NUL", `${PROVIDERS}/%00/thing/versions`],
  ])("are not found by the command: %s", async (_what, url) => {
    // In a public namespace an unknown provider is one without versions.
    expect([200, 404]).toContain(await statusOf("GET", url));
  });

  it("are refused where archives and namespaces are administered", async () => {
    expect(await statusOf("POST", `/api/namespaces/%00/transfer`, { account: "ben" })).toBe(404);
    expect(await statusOf("POST", `/api/namespaces/${wide}/transfer`, { account: "ben" })).toBe(
      404,
    );
    expect(await statusOf("DELETE", `/api/namespaces/%00`)).toBe(404);
    expect(await statusOf("PUT", `/api/namespaces/${wide}`, {})).toBe(400);
    const deprecation = { deprecation: "old" };
    for (const type of [wide, "a".repeat(128), "%00", "Thing"]) {
      const url = `/api/providers/tools/${type}/1.0.0`;
      expect([url, await statusOf("PATCH", url, deprecation)]).toEqual([url, 404]);
      expect([url, await statusOf("DELETE", url)]).toEqual([url, 404]);
    }
  });

  it("are refused where uses are released", async () => {
    const uses = (version: string): string =>
      `/api/private-providers/hello/versions/${version}/uses?user=acme%2Fshop%2Fone`;
    expect(await statusOf("DELETE", uses("1.0.0"))).toBe(204);
    expect(await statusOf("DELETE", uses("%00"))).toBe(400);
    expect(await statusOf("DELETE", uses("1.0"))).toBe(400);
  });
});
