import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { startFakeConsul } from "../testing/fake-consul.ts";
import { startFakeKubernetes } from "../testing/fake-kubernetes.ts";
import type { ArgumentValues } from "./backend-arguments.ts";
import { openBackend } from "./open-backend.ts";
import type { StateBackend } from "./state-backend.ts";
import { unpackedState } from "./state-bytes.ts";

const maxBytes = 2_000;
const SMALL = Buffer.from(JSON.stringify({ text: "a".repeat(1_000) }));
const LARGE = Buffer.from(JSON.stringify({ text: "a".repeat(100_000) }));

async function open(
  type: string,
  values: ArgumentValues,
  env: NodeJS.ProcessEnv = {},
): Promise<StateBackend> {
  return openBackend({ type, values }, { directory: "/", env, maxBytes });
}

/** A server that answers every request with the same body; the number of requests. */
async function serverOf(body: Buffer): Promise<{ readonly url: string; requests: number }> {
  const found = { url: "", requests: 0 };
  const server = createServer((_request, response) => {
    found.requests += 1;
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  found.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return found;
}

it.each(["s3", "gcs", "azurerm"])(
  "a state in %s that is larger than the limit is not read, and not tried again",
  async (type) => {
    const backend = async (body: Buffer) => {
      const server = await serverOf(body);
      const { url } = server;
      const [values, env] = {
        s3: [
          {
            bucket: "b",
            key: "k",
            region: "eu-west-1",
            use_path_style: true,
            access_key: "k",
            secret_key: "s",
            skip_s3_checksum: true,
            endpoints: { s3: url },
          },
          {},
        ] as const,
        gcs: [{ bucket: "b" }, { STORAGE_EMULATOR_HOST: url }] as const,
        azurerm: [
          { storage_account_name: "a", container_name: "c", key: "k", access_key: "a2V5" },
          { AZURE_STORAGE_CONNECTION_STRING: `AccountName=a;BlobEndpoint=${url}/a` },
        ] as const,
      }[type] ?? [{}, {}];
      return { server, opened: await open(type, values, env) };
    };
    const small = await backend(SMALL);
    expect(await small.opened.read("default")).toEqual(SMALL);
    const large = await backend(LARGE);
    await expect(large.opened.read("default")).rejects.toThrow(/larger than 2000 bytes/);
    expect(large.server.requests).toBe(small.server.requests);
  },
);

it("a state in Consul that is larger than the limit is not read, nor what unpacks to more", async () => {
  const values = { path: "app", address: await startFakeConsul() };
  for (const gzip of [false, true]) {
    const writer = await openBackend(
      { type: "consul", values: { ...values, gzip } },
      { directory: "/", env: {} },
    );
    await using reader = await open("consul", values);
    await writer.read("default");
    await writer.write("default", SMALL);
    expect(await reader.read("default")).toEqual(SMALL);
    await writer.write("default", LARGE);
    await expect(reader.read("default")).rejects.toThrow(/larger than \d+ bytes/);
  }
});

it("a state in Kubernetes that unpacks to more than the limit is not read", async () => {
  const values = { secret_suffix: "app", config_path: (await startFakeKubernetes()).config };
  await using writer = await openBackend(
    { type: "kubernetes", values },
    { directory: "/", env: {} },
  );
  await using reader = await open("kubernetes", values);
  await writer.write("default", SMALL);
  expect(await reader.read("default")).toEqual(SMALL);
  await writer.write("default", LARGE);
  await expect(reader.read("default")).rejects.toThrow(/larger than 2000 bytes/);
});

it("says of packed bytes that are damaged what is wrong with them", () => {
  expect(unpackedState(gzipSync("text"), "here", 10).toString()).toBe("text");
  expect(() => unpackedState(Buffer.from([0x1f, 0x8b, 1]), "here", 10)).not.toThrow(/larger/);
  expect(() => unpackedState(Buffer.from([0x1f, 0x8b, 1]), "here", 10)).toThrow();
});
