import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyRequest } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { stackwrightApiPlugin } from "../stackwright-api/index.ts";
import { createRegistryFixture, TEST_REGION } from "../testing/registry-fixture.ts";
import { announcedDigest } from "./stackwright-api.ts";

it("an account that sends more requests than it may is refused, and no other one", async () => {
  const storage = createMemoryStorage();
  const fixture = await createRegistryFixture(storage);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  const { registry, credentials, authenticator } = fixture;
  const app = fixture.server();
  const rateLimit = { perSecond: 0.001, burst: 2 };
  const region = TEST_REGION;
  await app.register(stackwrightApiPlugin, {
    registry,
    credentials,
    authenticator,
    region,
    rateLimit,
  });
  const ask = async (account: string) =>
    app.inject({
      method: "POST",
      url: "/tokens",
      headers: {
        ...(await fixture.authorization(account, "admin")),
        "content-type": "application/json",
      },
      payload: { roles: ["registry:reader"] },
    });
  expect((await ask("acme")).statusCode).toBe(201);
  expect((await ask("acme")).statusCode).toBe(201);
  const refused = await ask("acme");
  expect(refused.statusCode).toBe(429);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThan(900);
  expect((await ask("other")).statusCode).toBe(201);
});

it.each([
  ["a".repeat(64), "a".repeat(64)],
  ["a".repeat(63), undefined],
  ["A".repeat(64), undefined],
  ["UNSIGNED-PAYLOAD", undefined],
  [undefined, undefined],
])("an upload announces a digest by its header: %s", (header, expected) => {
  const headers = { "x-sdk-content-sha256": header };
  expect(announcedDigest({ headers } as unknown as FastifyRequest)).toBe(expected);
});
