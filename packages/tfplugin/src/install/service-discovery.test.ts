import { expect, it } from "vitest";
import type { InstallHttpClient } from "./http-client.ts";
import { serviceDiscovery } from "./service-discovery.ts";

const SERVICE = "providers.v1";

function discovery(...documents: readonly unknown[]) {
  let asked = 0;
  const http = {
    json: async () => Promise.resolve(documents[Math.min(asked++, documents.length - 1)]),
  } as unknown as InstallHttpClient;
  const find = serviceDiscovery({ http });
  return {
    find: async () => (await find("example.com", SERVICE, undefined))?.href,
    asked: () => asked,
  };
}

it("reads the document of a host once", async () => {
  const { find, asked } = discovery({ [SERVICE]: "/v1/providers/" });
  expect(await find()).toBe("https://example.com/v1/providers/");
  expect(await find()).toBe("https://example.com/v1/providers/");
  expect(asked()).toBe(1);
});

it("reads it again where it had no such service: that may have been one bad answer", async () => {
  const { find } = discovery(undefined, {}, { [SERVICE]: "/v1/providers/" });
  expect(await find()).toBeUndefined();
  expect(await find()).toBeUndefined();
  expect(await find()).toBe("https://example.com/v1/providers/");
});
