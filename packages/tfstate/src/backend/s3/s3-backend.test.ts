import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import type { ArgumentValues } from "../backend-arguments.ts";
import { openBackend } from "../open-backend.ts";

const VALUES = { bucket: "b", key: "app", region: "eu-west-1", access_key: "k", secret_key: "s" };

async function open(values: ArgumentValues) {
  return openBackend({ type: "s3", values: { ...VALUES, ...values } }, { directory: "/", env: {} });
}

it.each([
  [{}, "env:/w/app"],
  [{ workspace_key_prefix: null }, "env:/w/app"],
  [{ workspace_key_prefix: "p" }, "p/w/app"],
  [{ workspace_key_prefix: "" }, "w/app"],
])("has the key of a workspace with %o", async (values, key) => {
  await using backend = await open(values);
  expect(backend.place("w")).toBe(`s3 bucket b, key ${key}`);
  expect(backend.place("default")).toBe("s3 bucket b, key app");
});

it("reads the digest again that another command has not written yet", {
  timeout: 20_000,
}, async () => {
  const digest = createHash("md5").update("new").digest("hex");
  const digests = ["old", digest];
  const server = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") {
      response.end("new");
      return;
    }
    const Item = { Digest: { S: digests.length > 1 ? digests.shift() : digests[0] } };
    response.setHeader("content-type", "application/x-amz-json-1.0").end(JSON.stringify({ Item }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = { s3: url, dynamodb: url };
  await using backend = await open({ dynamodb_table: "locks", use_path_style: true, endpoints });
  expect(Buffer.from((await backend.read("default")) ?? []).toString()).toBe("new");
});

it("takes no credentials of the process where it is isolated from it", async () => {
  const values = { bucket: "b", key: "app", region: "eu-west-1" };
  const isolated = async (env: NodeJS.ProcessEnv, more: ArgumentValues = {}) =>
    openBackend(
      { type: "s3", values: { ...values, ...more } },
      { directory: "/", env, isIsolated: true },
    );
  const refused = { code: "TFSTATE_BACKEND_INVALID" };
  const reading = async (env: NodeJS.ProcessEnv, more: ArgumentValues = {}) => {
    await using backend = await isolated(env, more);
    return await backend.read("default");
  };
  await expect(reading({})).rejects.toMatchObject(refused);
  await expect(reading({ AWS_PROFILE: "p" })).rejects.toMatchObject(refused);
  const keys = { AWS_ACCESS_KEY_ID: "k", AWS_SECRET_ACCESS_KEY: "s" };
  await expect(reading(keys, { profile: "p" })).rejects.toMatchObject(refused);
  // The SDK would take the file that the variables of the process name.
  vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", "/token/of/the/process");
  onTestFinished(() => void vi.unstubAllEnvs());
  const assumed = { assume_role_with_web_identity: { role_arn: "arn" } };
  await expect(reading({}, assumed)).rejects.toMatchObject(refused);
  await using backend = await isolated(keys);
  // Where the state is can be asked without credentials.
  await using open = await isolated({});
  expect(open.identity?.("w")).toBe(backend.identity?.("w"));
  const role = { AWS_ROLE_ARN: "arn", AWS_WEB_IDENTITY_TOKEN_FILE: "/token" };
  await using web = await isolated(role);
  // The same object, regardless of whose credentials open it.
  expect(web.identity?.("w")).toBe(backend.identity?.("w"));
  const endpoints = { s3: "https://storage.example.com" };
  await using other = await isolated(keys, { endpoints });
  expect(other.place("w")).toBe(backend.place("w"));
  expect(other.identity?.("w")).not.toBe(backend.identity?.("w"));
});
