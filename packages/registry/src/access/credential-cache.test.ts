import { describe, expect, it } from "vitest";
import { CredentialCache } from "./credential-cache.ts";

describe("a cache of credentials", () => {
  it("keeps no answer that was on its way when the credential was revoked", async () => {
    const cache = new CredentialCache<string>(2_000, () => 0);
    const slow = Promise.withResolvers<string>();
    const reading = cache.get("key", () => slow.promise);
    cache.forget("key");
    slow.resolve("valid before");
    // The request that asked before is answered by what it read; no later one is.
    expect(await reading).toBe("valid before");
    expect(await cache.get("key", async () => undefined)).toBeUndefined();
  });

  it("keeps an answer for its time, and that of another key beside it", async () => {
    let nowMs = 0;
    const cache = new CredentialCache<string>(2_000, () => nowMs);
    let reads = 0;
    const get = (key: string) =>
      cache.get(key, async () => {
        reads += 1;
        return `${key}${reads}`;
      });
    expect([await get("a"), await get("b"), await get("a")]).toEqual(["a1", "b2", "a1"]);
    cache.forget("b");
    nowMs = 1_999;
    expect([await get("a"), await get("b")]).toEqual(["a1", "b3"]);
    nowMs = 2_000;
    expect(await get("a")).toBe("a4");
  });
});
