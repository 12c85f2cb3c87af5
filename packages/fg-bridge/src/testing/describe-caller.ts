import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { PluginTransport } from "@stackwright/tfplugin";
import { describe, expect, it } from "vitest";
import { METHODS, methodByPath } from "../envelope/methods.ts";
import { type EnvelopeRequest, parseRequest } from "../envelope/request.ts";

/** What a caller under test sent. */
interface Sent {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly request: EnvelopeRequest;
}

/** Makes a transport of the caller under test to the function at this URL. */
export type ConnectCaller = (url: string) => Promise<PluginTransport>;

/**
 * Registers tests of a caller against the contract, for whoever writes one: what it sends, what it takes for
 * success, and that it never repeats an apply that may have begun.
 *
 * Source: seed 003, rules 1 to 3.
 */
export function describeCaller(name: string, connect: ConnectCaller): void {
  describe(name, () => {
    it("posts the envelope of the contract to /provider, for every method", async () => {
      await using recorder = await startRecorder(connect);
      const { transport, sent } = recorder;
      for (const method of METHODS) await transport.unary(method.name, Buffer.from("x"), {});
      expect(sent.map(({ request }) => request.methodName)).toEqual(
        METHODS.map(({ path }) => path),
      );
      for (const { method, path, request } of sent) {
        expect([method, path]).toEqual(["POST", "/provider"]);
        expect(methodByPath(request.methodName)).toBeDefined();
        expect(Buffer.from(request.requestData).toString()).toBe("x");
        expect(request.sessionId).not.toBe("");
      }
      expect(new Set(sent.map(({ request }) => request.sessionId)).size).toBe(1);
    });

    it("carries any bytes both ways", async () => {
      const bytes = Buffer.from(Array.from({ length: 1024 }, (_, i) => i % 256));
      await using recorder = await startRecorder(connect, [
        {
          status: 200,
          body: JSON.stringify({ response_data: bytes.toString("base64"), error: "" }),
        },
        { status: 200, body: '{"response_data":""}' },
      ]);
      const { transport, sent } = recorder;
      const answer = await transport.unary("ReadResource", bytes, {});
      expect(Buffer.compare(answer, bytes)).toBe(0);
      expect(Buffer.compare(sent[0]?.request.requestData ?? Buffer.of(), bytes)).toBe(0);
      expect(await transport.unary("ReadResource", new Uint8Array(), {})).toHaveLength(0);
    });

    it("sends the configuration along once it was given", async () => {
      await using recorder = await startRecorder(connect);
      const { transport, sent } = recorder;
      await transport.unary("Configure", Buffer.from("cfg"), {});
      for (const method of ["ReadResource", "PlanResourceChange", "ApplyResourceChange"]) {
        await transport.unary(method, Buffer.from("x"), {});
      }
      const sentConfigs = sent.map(({ request }) => Buffer.from(request.configData).toString());
      expect(sentConfigs).toEqual(["", "cfg", "cfg", "cfg"]);
    });

    it.each([
      201, 202, 204, 301, 302, 307, 308, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504,
    ])("takes status %i for a failure", async (status) => {
      const failing = Array.from({ length: 10 }, () => ({ status, body: '{"response_data":""}' }));
      await using recorder = await startRecorder(connect, failing);
      await expect(
        recorder.transport.unary("ValidateResourceTypeConfig", Buffer.of(1), {}),
      ).rejects.toThrow();
    });

    it.each([
      "",
      "{",
      "[]",
      "{}",
      '{"response_data":1}',
      '{"response_data":"%%"}',
      '{"response_data":"AA==","error":"it failed"}',
      '{"error":"it failed"}',
      '{"response_data":"","error":{}}',
      "<html></html>",
    ])("takes %j for a failure", async (body) => {
      const failing = Array.from({ length: 10 }, () => ({ status: 200, body }));
      await using recorder = await startRecorder(connect, failing);
      await expect(recorder.transport.unary("ReadResource", Buffer.of(1), {})).rejects.toThrow();
    });

    it.each([500, 502, 503, 504, "cut"] as const)(
      "never repeats an apply after %s",
      async (status) => {
        const failing = Array.from({ length: 10 }, () => ({ status, body: "" }));
        await using recorder = await startRecorder(connect, failing);
        const { transport, sent } = recorder;
        const apply = transport.unary("ApplyResourceChange", Buffer.from("x"), {});
        await expect(apply).rejects.toMatchObject({ outcome: "unknown" });
        const applies = sent.filter(({ request }) =>
          request.methodName.endsWith("/ApplyResourceChange"),
        );
        expect(applies).toHaveLength(1);
      },
    );
  });
}

interface Scripted {
  readonly status: number | "cut";
  readonly body: string;
}

async function startRecorder(connect: ConnectCaller, answers: readonly Scripted[] = []) {
  const sent: Sent[] = [];
  const rest = [...answers];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      sent.push({
        method: request.method,
        path: request.url,
        request: parseRequest(Buffer.concat(chunks)),
      });
      const { status, body } = rest.shift() ?? {
        status: 200,
        body: '{"response_data":"","error":""}',
      };
      if (status === "cut") request.socket.destroy();
      else response.writeHead(status, { location: "/elsewhere" }).end(body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const transport = await connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    sent,
    transport,
    async [Symbol.asyncDispose]() {
      await transport.close();
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
