import { createHash, randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { signRequest } from "@stackwright/request-signing";
import { createMemoryStorage } from "@stackwright/storage/memory";
import type { FastifyInstance } from "fastify";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { rfsPlugin } from "./rfs/rfs-plugin.ts";
import { claimNamespace } from "./terraform/namespaces.ts";
import { publishPlugin } from "./terraform/publish-plugin.ts";
import { terraformPlugin } from "./terraform/terraform-plugin.ts";
import { packProvider } from "./testing/pack-provider.ts";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_CONTEXT,
  TEST_REGION,
} from "./testing/registry-fixture.ts";

const REQUEST_ID = "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1";
const PATH = "/v1/private-providers";
const scope = { account: "acme", region: TEST_REGION };

describe("attacks", () => {
  let fixture: RegistryFixture;
  let server: FastifyInstance;
  let port = 0;
  let key: { accessKey: string; secretKey: string };

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
    await server.register(rfsPlugin, { ...common, prefix: "/v1" });
    await server.register(terraformPlugin, common);
    await server.register(publishPlugin, {
      ...common,
      prefix: "/api/v1/registry",
      limits: { idleMs: 150 },
    });
    await server.listen({ host: "127.0.0.1", port: 0 });
    ({ port } = server.server.address() as AddressInfo);
    key = await credentials.createKey({ account: "acme", roles: ["publisher"] });
    await registry.createProvider(scope, { name: "mine" }, TEST_CONTEXT);
  });

  interface Sent {
    readonly status: number;
    readonly text: string;
  }

  type Headers = [string, string][];

  /** Sends exactly these bytes and reads until the server has answered. */
  async function raw(text: string | Buffer, waitMs = 2_000): Promise<Sent> {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.write(text);
    const ended = new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
    });
    const answered = new Promise<void>((resolve) => {
      socket.on("data", () => setTimeout(resolve, 50));
    });
    await Promise.race([ended, answered, new Promise((resolve) => setTimeout(resolve, waitMs))]);
    socket.destroy();
    const answer = Buffer.concat(chunks).toString();
    return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0), text: answer };
  }

  function signed(method: string, target: string, body = "", more: Headers = []): Headers {
    const headers: Headers = [
      ["Host", `127.0.0.1:${port}`],
      ["Content-Type", "application/json"],
      ["Client-Request-Id", REQUEST_ID],
      ...more,
    ];
    return signRequest({ method, target, headers, body: Buffer.from(body) }, key).map(
      ([name, value]): [string, string] => [name, value],
    );
  }

  const send = (method: string, target: string, headers: Headers, body = ""): Promise<Sent> => {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const length = `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n`;
    return raw(`${method} ${target} HTTP/1.1\r\n${lines}${length}\r\n${body}`);
  };

  const outcomes = async (account: "acme" | "system"): Promise<string[]> => {
    const day = new Date().toISOString().slice(0, 10);
    const entries = await fixture.registry.auditDay(account === "acme" ? scope : "system", day);
    return entries.map(({ outcome }) => outcome);
  };

  it("take the signature off, or part of what it covers, in vain", async () => {
    const body = '{"provider_name":"new"}';
    const good = signed("POST", PATH, body);
    const without = (name: string): Headers =>
      good.filter(([key]) => key.toLowerCase() !== name.toLowerCase());
    expect((await send("POST", PATH, without("authorization"), body)).status).toBe(401);
    expect((await send("POST", PATH, without("x-sdk-date"), body)).status).toBe(401);
    const other = body.replace("new", "own");
    expect((await send("POST", PATH, good, other)).status).toBe(401);
    expect((await send("POST", `${PATH}?x=1`, good, body)).status).toBe(401);
    expect((await send("PUT", PATH, good, body)).status).toBe(404);
    const unsigned: Headers = [...good, ["X-Sdk-Content-Sha256", "UNSIGNED-PAYLOAD"]];
    expect((await send("POST", PATH, unsigned, other)).status).toBe(401);
    const renamed = good.map(([name, value]): [string, string] => [
      name,
      value.replace(/Signature=[0-9a-f]+/, "Signature="),
    ]);
    expect((await send("POST", PATH, renamed, body)).status).toBe(401);
    expect((await send("POST", PATH, good, body)).status).toBe(201);
    expect(await outcomes("system")).toContain("REGISTRY_UNAUTHENTICATED:SIGNING_MISMATCH");
  });

  it("send a request a second time in vain", async () => {
    const body = '{"provider_name":"once"}';
    const headers = signed("POST", PATH, body);
    expect((await send("POST", PATH, headers, body)).status).toBe(201);
    await fixture.registry.deleteProvider(scope, { name: "once" }, TEST_CONTEXT);
    expect((await send("POST", PATH, headers, body)).status).toBe(401);
    expect(await outcomes("system")).toContain("REGISTRY_UNAUTHENTICATED:SIGNING_REPLAYED");
  });

  it("reach for other accounts and projects by headers in vain", async () => {
    key = await fixture.credentials.createKey({
      account: "acme",
      roles: ["publisher"],
      projects: ["p1"],
    });
    const get = (more: Headers, headers = signed("GET", PATH)): Promise<Sent> =>
      send("GET", PATH, [...headers, ...more]);
    expect((await get([["X-Domain-Id", "acme"]])).status).toBe(200);
    expect((await get([["X-Project-Id", "p1"]])).status).toBe(200);
    expect((await get([["X-Domain-Id", "other"]])).status).toBe(403);
    expect((await get([["X-Project-Id", "p2"]])).status).toBe(403);
    const { "x-auth-token": token = "" } = await fixture.authorization("other", "admin");
    // Two opinions on who asks are one too many, whichever comes first.
    for (const more of [
      [["X-Auth-Token", token]],
      [["Authorization", `Bearer ${token}`]],
      [["X-Sdk-Date", "20200101T000000Z"]],
    ] as Headers[]) {
      expect((await get(more)).status).toBe(401);
    }
    const twice: Headers = [
      ["X-Domain-Id", "acme"],
      ["X-Domain-Id", "other"],
    ];
    expect((await get(twice)).status).toBe(401);
    expect(await outcomes("system")).toContain("REGISTRY_FORBIDDEN");
    // What is published is for all projects of the account.
    const body = '{"provider_name":"new"}';
    expect((await send("POST", PATH, signed("POST", PATH, body), body)).status).toBe(403);
  });

  it("cannot smuggle a second request behind a first one", async () => {
    const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    for (const lines of [
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked, identity\r\n",
      "Content-Length: 5\r\nContent-Length: 6\r\n",
      "Content-Length: +5\r\n",
      "Transfer-Encoding : chunked\r\n",
    ]) {
      const { status, text } = await raw(
        `${head}${lines}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n`,
      );
      expect([lines, status]).toEqual([lines, 400]);
      expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }
    const withBody = signed("GET", PATH);
    expect((await send("GET", PATH, withBody, '{"a":1}')).status).toBe(400);
  });

  it("do not find what belongs to others, by name, by id or by guess", async () => {
    const mine = await fixture.registry.showProvider(scope, { name: "mine" });
    const stranger = await fixture.authorization("stranger", "admin");
    const headers = { ...stranger, "client-request-id": REQUEST_ID };
    for (const [method, url, payload] of [
      ["GET", `${PATH}/mine/metadata`],
      ["GET", `${PATH}/mine/metadata?provider_id=${mine.providerId}`],
      ["GET", `${PATH}/mine/versions`],
      ["GET", `${PATH}/mine/versions/1.0.0/metadata`],
      ["DELETE", `${PATH}/mine`],
      ["DELETE", `${PATH}/mine?provider_id=${mine.providerId}`],
      ["PATCH", `${PATH}/mine/metadata`, { provider_description: "theirs" }],
    ] as const) {
      const answer = await server.inject({
        method,
        url,
        headers: {
          ...headers,
          ...(payload === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(payload === undefined ? {} : { payload }),
      });
      expect([method, url, answer.statusCode]).toEqual([method, url, 404]);
      expect(answer.body).not.toContain(mine.providerId);
    }
    expect(await fixture.registry.showProvider(scope, { name: "mine" })).toEqual(mine);
  });

  it("with paths that climb get nowhere", async () => {
    const { "x-auth-token": token = "" } = await fixture.authorization("acme", "admin");
    const headers: Headers = [
      ["Host", "x"],
      ["X-Auth-Token", token],
      ["Client-Request-Id", REQUEST_ID],
    ];
    for (const path of [
      `${PATH}/../../etc/passwd`,
      `${PATH}/..%2f..%2fetc%2fpasswd/metadata`,
      `${PATH}/%2e%2e/metadata`,
      `${PATH}/mine%00/metadata`,
      `${PATH}/mine/versions/..%2f..%2f..%2fx/metadata`,
      `${PATH}/%zz/metadata`,
      "/terraform/v1/mirror/example.test/acme/thing/..%2f..%2fx.json",
      "/terraform/v1/files/..%2f..%2f/x",
    ]) {
      const { status } = await send("GET", path, headers);
      expect([path, status]).toEqual([path, expect.toSatisfy((s: number) => s >= 400 && s < 500)]);
    }
  });

  it("with huge bodies, deep ones and odd ones are turned away", async () => {
    const { "x-auth-token": token = "" } = await fixture.authorization("acme", "admin");
    const headers: Headers = [
      ["Host", "x"],
      ["X-Auth-Token", token],
      ["Client-Request-Id", REQUEST_ID],
      ["Content-Type", "application/json"],
    ];
    const deep = `{"provider_name":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    for (const [body, status] of [
      [`{"provider_name":"${"a".repeat(100_000)}"}`, 413],
      [deep, 400],
      ['{"__proto__":{"provider_name":"x"}}', 400],
      ['{"provider_name":"x","provider_name":"y"}', 400],
      ['{"provider_name":"x","provider\\u005fname":"y"}', 400],
      ["\u{feff}{}", 400],
      ["null", 400],
    ] as const) {
      expect([body.slice(0, 40), (await send("POST", PATH, headers, body)).status]).toEqual([
        body.slice(0, 40),
        status,
      ]);
    }
    const invalid = Buffer.concat([Buffer.from('{"provider_name":"'), Buffer.of(0xff, 0xfe, 0x22)]);
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const head = `POST ${PATH} HTTP/1.1\r\n${lines}content-length: ${invalid.length}\r\n\r\n`;
    expect((await raw(Buffer.concat([Buffer.from(head), invalid]))).status).toBe(400);
  });

  it("with names that make bad patterns slow cost no time", async () => {
    const { "x-auth-token": token = "" } = await fixture.authorization("acme", "admin");
    const evil = [
      `${"a-".repeat(20_000)}!`,
      `${"0".repeat(30_000)}_`,
      `urn:fss:${":".repeat(30_000)}`,
      `1.0.0-${"a.".repeat(15_000)}!`,
      `iam::${"a".repeat(30_000)}:agency`,
    ];
    const started = performance.now();
    for (const text of evil) {
      for (const payload of [
        { provider_name: text },
        { provider_name: "x", provider_version: text, function_graph_urn: text },
        { provider_name: "x", provider_agency_urn: text },
      ]) {
        const answer = await server.inject({
          method: "POST",
          url: PATH,
          headers: {
            "x-auth-token": token,
            "client-request-id": REQUEST_ID,
            "content-type": "application/json",
          },
          payload,
        });
        expect(answer.statusCode).toBeGreaterThanOrEqual(400);
      }
    }
    // A pattern that backtracks needs minutes for one of them.
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it("with uploads that stand still are cut off, and leave nothing behind", async () => {
    const namespace = { name: "acme", account: "acme", public: true };
    await claimNamespace(fixture.registry, namespace, TEST_CONTEXT);
    const { "x-auth-token": token = "" } = await fixture.authorization("acme", "publisher");
    const { status } = await raw(
      `PUT /api/v1/registry/providers/acme/thing/1.0.0/linux_amd64 HTTP/1.1\r\nHost: x\r\nX-Auth-Token: ${token}\r\nContent-Type: application/zip\r\nContent-Length: 100000\r\n\r\nPK`,
    );
    expect(status).toBe(422);
    const url = "/terraform/v1/providers/acme/thing/versions";
    expect((await server.inject({ url })).json()).toMatchObject({ versions: [] });
    expect(await outcomes("acme")).toContain("REGISTRY_ARCHIVE_INVALID");
  });

  it("do not keep honest uploads from going through, over real connections", async () => {
    const namespace = { name: "acme", account: "acme", public: true };
    await claimNamespace(fixture.registry, namespace, TEST_CONTEXT);
    const archive = await packProvider("thing", randomBytes(300_000));
    const base = `http://127.0.0.1:${port}`;
    const upload = `${base}/api/v1/registry/providers/acme/thing/1.0.0/linux_amd64`;
    const headers = await fixture.authorization("acme", "publisher");
    const answer = await fetch(upload, {
      method: "PUT",
      headers: { ...headers, "content-type": "application/zip" },
      body: new Uint8Array(archive),
    });
    expect([answer.status, await answer.json()]).toMatchObject([
      201,
      { h1: expect.stringMatching(/^h1:/) as string },
    ]);
    const found = await fetch(
      `${base}/terraform/v1/providers/acme/thing/1.0.0/download/linux/amd64`,
    );
    const { download_url: url } = (await found.json()) as { download_url: string };
    const bytes = Buffer.from(await (await fetch(base + url)).arrayBuffer());
    expect(bytes.equals(archive)).toBe(true);

    // Signed, with the digest that is compared before the body is read.
    const signedArchive = await packProvider("thing", randomBytes(300_000));
    const digest = createHash("sha256").update(signedArchive).digest("hex");
    const put = async (version: string, body: Buffer): Promise<() => Promise<number>> => {
      const target = `/api/v1/registry/providers/acme/thing/${version}/linux_amd64`;
      const headers = signRequest(
        {
          method: "PUT",
          target,
          headers: [
            ["Host", `127.0.0.1:${port}`],
            ["Content-Type", "application/zip"],
            ["X-Sdk-Content-Sha256", digest],
          ],
          body: { sha256: digest },
        },
        key,
      ).filter(([name]) => name.toLowerCase() !== "host") as [string, string][];
      const init = { method: "PUT", headers, body: new Uint8Array(body) };
      return async () => (await fetch(base + target, init)).status;
    };
    const honest = await put("1.0.1", signedArchive);
    // A signature is good for one request, and for the bytes that were announced.
    expect([await honest(), await honest()]).toEqual([201, 401]);
    expect(await (await put("1.0.2", archive))()).toBe(422);
  });

  it("do not fill the audit trail", async () => {
    for (let n = 0; n < 300; n += 1) {
      expect((await server.inject({ url: PATH })).statusCode).toBe(401);
    }
    // Sixty a minute, and a minute may end meanwhile.
    const noted = await outcomes("system");
    expect(noted.length).toBeGreaterThanOrEqual(60);
    expect(noted.length).toBeLessThanOrEqual(130);
  });
});
