import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { fetchS3, parseS3Address } from "./s3-package.ts";

describe("parseS3Address", () => {
  it.each([
    ["https://s3.amazonaws.com/b/a/k.zip", "us-east-1", "b", "a/k.zip"],
    ["https://s3-eu-west-1.amazonaws.com/b/k", "eu-west-1", "b", "k"],
    ["https://s3.eu-west-1.amazonaws.com/b/k", "eu-west-1", "b", "k"],
    ["https://b.s3-eu-west-1.amazonaws.com/a/k", "eu-west-1", "b", "a/k"],
    ["https://b.s3.eu-west-1.amazonaws.com/k%20x", "eu-west-1", "b", "k x"],
    ["https://s3.amazonaws.com/b/k?region=eu-north-1", "eu-north-1", "b", "k"],
  ])("%s", (text, region, bucket, key) => {
    expect(parseS3Address(text)).toMatchObject({ region, bucket, key, endpoint: undefined });
  });

  it("takes other servers as endpoints", () => {
    expect(parseS3Address("http://127.0.0.1:9000/b/k.zip?region=r")).toMatchObject({
      region: "r",
      bucket: "b",
      key: "k.zip",
      endpoint: "http://127.0.0.1:9000",
    });
  });

  it.each(["https://s3.amazonaws.com/b", "https://ec2.amazonaws.com/b/k"])("refuses %s", (text) => {
    expect(() => parseS3Address(text)).toThrow(/cannot be fetched/);
  });
});

describe("a server that does not answer", { timeout: 20_000 }, () => {
  const env = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };

  async function silentServer(): Promise<string> {
    const server = createServer(() => undefined);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each(["bucket/prefix", "bucket/module.zip"])("is left when it is silent: %s", async (path) => {
    const address = `${await silentServer()}/${path}`;
    const { signal } = new AbortController();
    const fetched = fetchS3(address, "/nowhere", { env, signal, idleMs: 200 });
    await expect(fetched).rejects.toThrow("S3 refused");
  });

  it.each(["bucket/prefix", "bucket/module.zip"])(
    "is left when the command is stopped: %s",
    async (path) => {
      const address = `${await silentServer()}/${path}`;
      const stop = new AbortController();
      const fetched = fetchS3(address, "/nowhere", { env, signal: stop.signal });
      setTimeout(() => stop.abort(), 500);
      await expect(fetched).rejects.toThrow("aborted");
    },
  );
});
