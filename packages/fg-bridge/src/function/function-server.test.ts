import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { signRequest } from "@stackwright/request-signing";
import { afterEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../audit.ts";
import { METHODS } from "../envelope/methods.ts";
import { encodeRequest } from "../envelope/request.ts";
import { parseResponse } from "../envelope/response.ts";
import { decodeGatewayReply, encodeGatewayEvent } from "../target/gateway-event.ts";
import { createScriptedRunner } from "../testing/scripted-runner.ts";
import { authenticateBearer, authenticateSignature } from "./authenticate.ts";
import {
  type FunctionServer,
  type FunctionServerOptions,
  serveFunction,
} from "./function-server.ts";

const servers: FunctionServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(options: Partial<FunctionServerOptions> = {}) {
  const runner = createScriptedRunner();
  const server = await serveFunction({ runner, port: 0, ...options });
  servers.push(server);
  return { server, runner, url: `${server.url}/provider` };
}

const envelope = Buffer.from(
  encodeRequest({
    methodName: "/tfplugin5.Provider/ReadResource",
    requestData: Buffer.from("hello"),
    sessionId: "s",
    configData: new Uint8Array(),
    extensions: { accept: [] },
  }),
);
const post = (url: string, body: Uint8Array, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", body: new Uint8Array(body), headers });
const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer());
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe("the function server", () => {
  it("answers POST /provider", async () => {
    const { url } = await start();
    const response = await post(url, envelope);
    expect(response.status).toBe(200);
    expect(textOf(parseResponse(await bytesOf(response)).responseData)).toBe("hello");
  });

  it("has no other paths and methods", async () => {
    const { server, url, runner } = await start();
    expect((await fetch(url)).status).toBe(405);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    for (const path of [
      "/",
      "/provider/",
      "/provider?x=1",
      "/Provider",
      "//provider",
      "/results/x",
    ]) {
      expect((await post(`${server.url}${path}`, envelope)).status, path).toBe(404);
    }
    expect(runner.starts).toBe(0);
  });

  it("refuses a body that is too large, announced or not", async () => {
    const { url, runner } = await start();
    expect((await post(url, Buffer.alloc(9 * 1024 * 1024))).status).toBe(413);
    const status = await new Promise((resolve) => {
      const request = httpRequest(url, { method: "POST" }, (response) => {
        resolve(response.statusCode);
        response.resume();
      });
      request.on("error", () => resolve("cut"));
      for (let i = 0; i < 40; i++) request.write(Buffer.alloc(256 * 1024));
      request.end();
    });
    expect([413, "cut"]).toContain(status);
    expect(runner.starts).toBe(0);
  });

  it("answers gateway events in their own form", async () => {
    const { url } = await start();
    const response = await post(url, encodeGatewayEvent(envelope));
    const reply = decodeGatewayReply(await bytesOf(response));
    expect(reply.status).toBe(200);
    expect(textOf(parseResponse(reply.body).responseData)).toBe("hello");
    const broken = await post(url, encodeGatewayEvent(Buffer.from("{}")));
    expect(decodeGatewayReply(await bytesOf(broken)).status).toBe(400);
  });

  it("survives half requests and garbage", async () => {
    const { server, url } = await start();
    const { port, hostname } = new URL(server.url);
    for (const bytes of [
      "POST /provider HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{",
      "garbage\r\n\r\n",
      "POST /provider HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    ]) {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => socket.end(bytes));
        socket.on("error", () => undefined);
        socket.on("close", () => resolve());
        socket.resume();
      });
    }
    expect((await post(url, envelope)).status).toBe(200);
  });

  it("streams its progress to every caller, with the same answer at the end", async () => {
    const { url } = await start();
    const response = await post(url, envelope, { accept: "text/event-stream" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const text = await response.text();
    expect(text).toContain("event: progress\ndata: starting the provider\n");
    const result = /event: result\ndata: (.*)\n/.exec(text)?.[1] ?? "";
    expect(textOf(parseResponse(Buffer.from(result)).responseData)).toBe("hello");
    // What is refused before it began keeps its status.
    const refused = await post(url, Buffer.from("{}"), { accept: "text/event-stream" });
    expect(refused.status).toBe(400);
  });

  it("asks callers for a signature over the whole request", async () => {
    const audit: AuditEvent[] = [];
    const { url, runner } = await start({
      authenticate: authenticateSignature({
        secretFor: (accessKey) => (accessKey === "AK" ? "secret" : undefined),
      }),
      onAudit: (event) => audit.push(event),
    });
    const { host } = new URL(url);
    const signed = (body: Uint8Array, secretKey = "secret") =>
      Object.fromEntries(
        signRequest(
          {
            method: "POST",
            target: "/provider",
            headers: [
              ["host", host],
              ["content-type", "application/json"],
            ],
            body,
          },
          { accessKey: "AK", secretKey },
        ),
      );
    const headers = signed(envelope);
    expect((await post(url, envelope, headers)).status).toBe(200);
    // The same once more, another body, another key, none at all.
    expect((await post(url, envelope, headers)).status).toBe(401);
    const other = Buffer.concat([envelope, Buffer.from(" ")]);
    expect((await post(url, other, signed(envelope))).status).toBe(401);
    expect((await post(url, other, signed(other, "wrong"))).status).toBe(401);
    expect((await post(url, envelope)).status).toBe(401);
    expect(runner.starts).toBe(1);
    expect(audit.map(({ kind }) => kind)).toEqual(Array(4).fill("caller-refused"));
  });

  it("asks callers for a token", async () => {
    const { url } = await start({ authenticate: authenticateBearer({ engine: "t0ken" }) });
    expect((await post(url, envelope, { authorization: "Bearer t0ken" })).status).toBe(200);
    for (const authorization of ["Bearer other", "Bearer ", "t0ken", "Basic t0ken"]) {
      expect((await post(url, envelope, { authorization })).status).toBe(401);
    }
  });

  it("carries every method", async () => {
    const { url, runner } = await start();
    for (const { path } of METHODS) {
      const body = JSON.stringify({
        method_name: path,
        request_data: "",
        context: { session_id: "s", config_data: "" },
      });
      const response = await post(url, Buffer.from(body));
      expect(response.status, path).toBe(200);
      expect(await response.json()).toMatchObject({ error: "", response_data: "" });
    }
    expect(runner.starts).toBe(11);
  });

  it("ends with calls in progress", async () => {
    const runner = createScriptedRunner({
      script: (_call, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        }),
    });
    const server = await serveFunction({ runner, port: 0 });
    const waiting = post(`${server.url}/provider`, envelope).catch(() => undefined);
    await expect.poll(() => runner.calls.length).toBe(1);
    await server.close();
    await waiting;
    expect(runner.alive).toBe(0);
  });
});
