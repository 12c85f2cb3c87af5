import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStaticBridgeSource } from "@stackwright/provider-source/testing";
import { signRequest } from "@stackwright/request-signing";
import { createRemoteStorage } from "@stackwright/storage/remote";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { bootstrap } from "./bootstrap-command.ts";
import { type RunningServer, type ServeParts, serve } from "./serve.ts";
import { parseServeArguments } from "./serve-arguments.ts";
import { loggedUrl } from "./server-logger.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";

const URN = "urn:fss:cn-north-7:a61dfe3154de42829367056598d5040f:function:default:test:latest";
const REQUEST_ID = "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1";

interface Started {
  readonly server: RunningServer;
  readonly first: BootstrapCredentials;
  readonly logs: string[];
  readonly directory: string;
}

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "serve-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function start(
  options: Partial<ServerOptions> = {},
  parts: ServeParts = {},
): Promise<Started> {
  const directory = parts.directory ?? (await scratch());
  const logs: string[] = [];
  const server = await serve(
    {
      store: "memory:",
      port: 0,
      region: "cn-north-7",
      bootstrapFile: join(directory, "first.json"),
      ...options,
    },
    { directory, logs: { write: (line) => void logs.push(line) }, env: {}, ...parts },
  );
  onTestFinished(() => server.close());
  const first = JSON.parse(
    await readFile(join(directory, "first.json"), "utf8"),
  ) as BootstrapCredentials;
  return { server, first, logs, directory };
}

function api(
  { server, first }: Started,
  path: string,
  init: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(server.url + path, {
    ...init,
    headers: {
      "x-auth-token": first.token,
      "client-request-id": REQUEST_ID,
      ...(init.body === undefined ? {} : { "content-type": "application/json" }),
      ...init.headers,
    },
  });
}

describe("the server", () => {
  it("answers both APIs, describes itself, and stops", async () => {
    const started = await start({}, { bridge: createStaticBridgeSource() });
    const { server, directory } = started;
    expect((await stat(join(directory, "first.json"))).mode & 0o777).toBe(0o600);
    const body = { provider_name: "hello", provider_version: "1.0.0", function_graph_urn: URN };
    const created = await api(started, "/v1/private-providers", {
      method: "POST",
      body: JSON.stringify(body),
    });
    expect(created.status).toBe(201);
    const mirror = "/terraform/v1/mirror/huawei.com/private-provider/hello/index.json";
    expect(await (await api(started, mirror)).json()).toEqual({ versions: { "1.0.0": {} } });

    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain(
      'stackwright_http_request_seconds_count{method="POST",route="/v1/private-providers",status="201"} 1',
    );
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId?: string }>>;
    };
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(ids).toEqual(
      expect.arrayContaining([
        "CreatePrivateProvider",
        "ListPrivateProviders",
        "ShowPrivateProviderMetadata",
        "UpdatePrivateProviderMetadata",
        "DeletePrivateProvider",
        "CreatePrivateProviderVersion",
        "ListPrivateProviderVersions",
        "ShowPrivateProviderVersionMetadata",
        "DeletePrivateProviderVersion",
      ]),
    );
    const page = await fetch(`${server.url}/docs`);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await page.text()).toContain("/v1/private-providers/{provider_name}/metadata");

    await server.close();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
    await server.stopped;
  });

  it("gives every answer an id, and what it does not have in the form of the API that was asked", async () => {
    const { server, logs } = await start();
    for (const [path, status, type, body] of [
      ["/v1", 404, "application/json", { error_code: "RF.10900303" }],
      ["/v1/nothing?x=1", 404, "application/json", { error_code: "RF.10900303" }],
      ["/v1/private-providers/%zz", 400, "application/json", { error_code: "RF.10900108" }],
      ["/v10", 404, "application/problem+json", { status: 404, code: "not_found" }],
      ["/nothing", 404, "application/problem+json", { status: 404, title: "Not Found" }],
      ["/api/v1/registry/nothing", 404, "application/problem+json", { code: "not_found" }],
      ["/terraform/v1/nothing", 404, "application/problem+json", { type: "about:blank" }],
      ["/nothing/%zz", 400, "application/problem+json", { status: 400, code: "invalid_request" }],
    ] as const) {
      const answer = await fetch(server.url + path, { headers: { "x-request-id": "mine" } });
      expect([path, answer.status]).toEqual([path, status]);
      expect(answer.headers.get("content-type")).toContain(type);
      const id = answer.headers.get("x-request-id");
      const known = type === "application/json" ? body : { ...body, request_id: id };
      // What is not even a path has no id of its own in its headers.
      expect(await answer.json()).toMatchObject(id === null ? body : known);
      expect(id).not.toBe("mine");
    }
    for (const line of logs) expect(JSON.parse(line)).toMatchObject({ service: "stackwright" });
  });

  it("writes no secrets into its logs", async () => {
    const started = await start({ logLevel: "trace" });
    await api(started, "/v1/private-providers?marker=abcdefgh");
    await api(started, "/terraform/v1/files/TOKEN.TAG/x.zip");
    const all = started.logs.join("");
    expect(all).toContain("/v1/private-providers");
    for (const secret of [started.first.token, started.first.secretKey, "abcdefgh", "TOKEN.TAG"]) {
      expect(all).not.toContain(secret);
    }
    expect(loggedUrl("/terraform/v1/files/a.b/c.zip?x=1")).toBe("/terraform/v1/files/…/c.zip?…");
  });

  it("says that it drains, lets requests end, and stops at a signal", async () => {
    const stop = new AbortController();
    const started = await start({ drainDelayMs: 300 }, { signal: stop.signal });
    const { server } = started;
    stop.abort();
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { status: "draining" }]);
    expect((await api(started, "/v1/private-providers")).status).toBe(200);
    await server.stopped;
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  it("lets a request that runs end before it closes", async () => {
    const started = await start();
    const { server, first } = started;
    const body = JSON.stringify({ provider_name: "slow" });
    const answer = new Promise<number | undefined>((resolve, reject) => {
      const url = new URL("/v1/private-providers", server.url);
      const headers = {
        "x-auth-token": first.token,
        "client-request-id": REQUEST_ID,
        "content-type": "application/json",
        "content-length": body.length,
      };
      const request = httpRequest(url, { method: "POST", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on("error", reject);
      request.write(body.slice(0, 5));
      setTimeout(() => request.end(body.slice(5)), 300);
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const closed = server.close();
    expect(await answer).toBe(201);
    await closed;
  });

  it("cuts requests that outlast the drain", async () => {
    const { server } = await start({ drainTimeoutMs: 200 });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    const gone = new Promise((resolve) => socket.once("close", resolve));
    socket.write(
      "POST /v1/private-providers HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.close();
    await gone;
  });

  it("takes signed requests and refuses them the second time", async () => {
    const { server, first } = await start();
    const url = new URL("/v1/private-providers", server.url);
    const body = Buffer.from('{"provider_name":"signed"}');
    const headers = signRequest(
      {
        method: "POST",
        target: url.pathname,
        headers: [
          ["host", url.host],
          ["content-type", "application/json"],
          ["client-request-id", REQUEST_ID],
        ],
        body,
      },
      { accessKey: first.accessKey, secretKey: first.secretKey },
    ).filter(([name]) => name.toLowerCase() !== "host") as [string, string][];
    const send = async (): Promise<number> =>
      (await fetch(url, { method: "POST", headers, body })).status;
    expect([await send(), await send()]).toEqual([201, 401]);
  });

  it("refuses a signed request the second time after a restart, too", async () => {
    const directory = await scratch();
    const options = { store: "sqlite:data", bootstrapFile: join(directory, "first.json") };
    const before = await start(options, { directory });
    const { host, pathname } = new URL("/v1/private-providers", before.server.url);
    const body = Buffer.from('{"provider_name":"signed"}');
    const key = { accessKey: before.first.accessKey, secretKey: before.first.secretKey };
    const plain = [
      ["host", host],
      ["content-type", "application/json"],
      ["client-request-id", REQUEST_ID],
    ] as const;
    const request = { method: "POST", target: pathname, headers: plain, body };
    const headers = signRequest(request, key, { unsignedHeaders: ["host"] }).filter(
      ([name]) => name.toLowerCase() !== "host",
    ) as [string, string][];
    const send = async ({ url }: RunningServer): Promise<number> =>
      (await fetch(url + pathname, { method: "POST", headers, body })).status;
    expect(await send(before.server)).toBe(201);
    const removed = await api(before, `${pathname}/signed`, { method: "DELETE" });
    expect(removed.status).toBe(204);
    await before.server.close();

    const after = await start(options, { directory });
    expect(await send(after.server)).toBe(401);
    expect((await api(after, `${pathname}/signed`)).status).toBe(404);
  });

  it("offers the store to tokens as far as they go", async () => {
    const { server, first } = await start({ storagePort: 0 });
    const port = server.storagePort ?? 0;
    const address = { host: "127.0.0.1", port };
    const scope = { partition: "acme", peerName: "local", namespace: "*", namePrefix: "run-" };
    const { token } = await server.credentials.createToken({
      account: "acme",
      roles: ["worker"],
      storageScopes: [scope],
    });
    await using worker = await createRemoteStorage({ address, token });
    const type = { group: "stackwright", groupVersion: "v1", kind: "Run" };
    const tenancy = { partition: "acme", peerName: "local", namespace: "x" };
    const resource = { version: "", generation: "", metadata: {}, status: {} };
    await worker.writeCAS({ ...resource, id: { uid: "1", name: "run-1", type, tenancy } });
    const id = { uid: "1", name: "other", type, tenancy };
    await expect(worker.writeCAS({ ...resource, id })).rejects.toMatchObject({
      code: "STORAGE_PERMISSION_DENIED",
    });
    await using operator = await createRemoteStorage({ address, token: first.token });
    await operator.writeCAS({ ...resource, id });
    await expect(createRemoteStorage({ address, token: "sw_wrong" })).rejects.toMatchObject({
      code: "STORAGE_PERMISSION_DENIED",
    });
  });

  it("keeps what it has over a restart on an embedded store", async () => {
    const directory = await scratch();
    const options = { store: "sqlite:data", port: 0, region: "cn-north-7" };
    const parts = { directory, logs: { write: () => undefined }, env: {} };
    const first = await bootstrap(options, "acme", parts);
    await expect(bootstrap(options, "acme", parts)).rejects.toMatchObject({
      code: "ENGINE_CONFIG_INVALID",
    });
    for (const status of [201, 409]) {
      await using server = await serve(options, parts);
      const answer = await api({ server, first, logs: [], directory }, "/v1/private-providers", {
        method: "POST",
        body: JSON.stringify({ provider_name: "kept" }),
      });
      expect(answer.status).toBe(status);
    }
  });
});

describe("options of the server", () => {
  it("come from a file, the environment and the command line, in this order of weight", async () => {
    const directory = await scratch();
    const { writeFile } = await import("node:fs/promises");
    const file = { port: 1, region: "r1", quotas: { providers: 5 } };
    await writeFile(join(directory, "server.json"), JSON.stringify(file));
    const options = await parseServeArguments(
      ["--config", "server.json", "--port", "2", "--max-versions", "7", "--mirror-host", "a.test"],
      { STACKWRIGHT_STORE: "memory:" },
      directory,
    );
    expect(resolveServerOptions(options)).toMatchObject({
      store: "memory:",
      port: 2,
      region: "r1",
      quotas: { providers: 5, versionsPerProvider: 7 },
      mirrorHosts: ["a.test"],
    });
  });

  it("take the files of keys that a configuration file names from beside it", async () => {
    const directory = await scratch();
    const { mkdir, writeFile } = await import("node:fs/promises");
    await mkdir(join(directory, "etc"));
    const file = { store: "memory:", keyFile: "keys/now", formerKeyFile: "/run/keys/former" };
    await writeFile(join(directory, "etc/server.json"), JSON.stringify(file));
    const named = ["--config", "etc/server.json"];
    expect(await parseServeArguments(named, {}, directory)).toMatchObject({
      keyFile: join(directory, "etc/keys/now"),
      formerKeyFile: "/run/keys/former",
    });
    const option = [...named, "--key-file", "here"];
    expect(await parseServeArguments(option, {}, directory)).toMatchObject({ keyFile: "here" });
  });

  it.each([
    [{}, "store"],
    [{ store: "memory:", port: 70_000 }, "port"],
    [{ store: "memory:", region: "No" }, "region"],
    [{ store: "memory:", surprise: 1 }, "additional"],
    [{ store: "memory:", keyFile: "a", keyVariable: "b" }, "exclude"],
    [{ store: "stackwright://127.0.0.1:7401" }, "its store is another server"],
  ])("are checked: %j", (options, problem) => {
    expect(() => resolveServerOptions(options)).toThrow(problem);
  });

  it("refuse what does not exist", async () => {
    for (const args of [["--nothing"], ["--port", "many"], ["--config", "/absent.json"]]) {
      await expect(parseServeArguments(args, {}, "/")).rejects.toMatchObject({
        code: "ENGINE_CONFIG_INVALID",
      });
    }
  });

  it("demand a key for stores that others can reach", async () => {
    const options = { store: "postgres://localhost/x", port: 0 };
    await expect(serve(options, { env: {} })).rejects.toMatchObject({
      code: "ENGINE_KEY_UNAVAILABLE",
    });
  });
});

it("ends what it has opened where its start fails after it listens", async () => {
  const directory = await scratch();
  const file = join(directory, "no-folder");
  await writeFile(file, "");
  const options = { store: "memory:", port: 0, region: "cn-north-7", runDirectory: file } as const;
  const lines: string[] = [];
  const logs = { write: (line: string) => void lines.push(line) };
  await expect(serve(options, { directory, env: {}, logs })).rejects.toMatchObject({
    code: "EEXIST",
  });
});
