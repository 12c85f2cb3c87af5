import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { InstallHttpClient } from "./http-client.ts";
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

it("says what to do about a certificate that is not trusted", async () => {
  // As `fetch` fails.
  const cause = Object.assign(new Error("self-signed certificate; if the root CA is installed"), {
    code: "DEPTH_ZERO_SELF_SIGNED_CERT",
  });
  const refuse = async () => Promise.reject(new TypeError("fetch failed", { cause }));
  const find = serviceDiscovery({ http: new InstallHttpClient({ fetch: refuse, retries: 0 }) });
  await expect(find("example.com", SERVICE, undefined)).rejects.toThrow(
    /not trusted here \(DEPTH_ZERO_SELF_SIGNED_CERT\); SSL_CERT_FILE names/,
  );
});

it("says of a host without TLS what it is, and not what OpenSSL calls it", async () => {
  const server = createServer((_, response) => response.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const find = serviceDiscovery({ http: new InstallHttpClient({ retries: 0 }) });
  await expect(find(host, SERVICE, undefined)).rejects.toMatchObject({
    code: "TFPLUGIN_REGISTRY_UNAVAILABLE",
    message: expect.stringMatching(/answers without TLS$/),
  });
});
