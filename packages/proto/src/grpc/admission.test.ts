import { connect } from "node:http2";
import { deferred } from "@stackwright/base/deferred";
import { describe, expect, it, onTestFinished } from "vitest";
import { SERVER_CARRIERS, shapesOver, until } from "../testing/shapes-fixture.ts";
import { message } from "../testing/shapes-service.ts";
import { RpcError } from "./rpc-error.ts";

const MIB = 1024 * 1024;

/** A client that announces a message of some size and sends as much of it as the server lets it. */
function pour(port: number, path: string, bytes: number) {
  const session = connect(`http://127.0.0.1:${port}`);
  // The server closes before the client does.
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  const seen = { sent: 0, status: "", closed: false };
  stream.on("response", (headers) => (seen.status = String(headers["grpc-status"] ?? "")));
  stream.on("trailers", (headers) => (seen.status = String(headers["grpc-status"] ?? "")));
  stream.on("close", () => (seen.closed = true));
  stream.on("error", () => undefined);
  stream.resume();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes, 1);
  stream.write(head);
  const chunk = Buffer.alloc(64 * 1024);
  const more = (): void => {
    if (seen.sent >= bytes || stream.destroyed) return;
    stream.write(chunk, () => {
      seen.sent += chunk.length;
      more();
    });
  };
  more();
  return seen;
}

function portOf(address: object): number {
  return "port" in address ? Number(address.port) : 0;
}

describe.each(SERVER_CARRIERS)("the admission of calls over %s", { timeout: 30_000 }, (over) => {
  const connectShapes = shapesOver(over);

  it("reads nothing of a request before it has decided, and nothing after a refusal", async () => {
    const asked: string[] = [];
    const decision = deferred<void>();
    let handled = 0;
    const one = () => {
      handled += 1;
      return message("");
    };
    await using fixture = await connectShapes(
      { one },
      {
        handlers: {
          admit: async ({ method }) => {
            asked.push(method);
            await decision.promise;
          },
        },
      },
    );
    const port = portOf(fixture.server.address);
    const path = "/stackwright.test.Shapes/One";
    const before = process.memoryUsage().rss;
    const calls = Array.from({ length: 4 }, () => pour(port, path, 200 * MIB));
    await until(() => asked.length === 4);
    await new Promise((resolve) => setTimeout(resolve, 300));
    for (const { sent } of calls) expect(sent).toBeLessThan(MIB);
    decision.reject(new RpcError("UNAUTHENTICATED", "who is there?"));
    await until(() => calls.every(({ status }) => status !== ""));
    expect(calls.map(({ status }) => status)).toEqual(["16", "16", "16", "16"]);
    await until(() => calls.every(({ sent, closed }) => closed || sent >= 200 * MIB));
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * MIB);
    expect(handled).toBe(0);
  });

  it("lets calls of every shape begin, with the metadata that it saw", async () => {
    const heads: unknown[] = [];
    await using fixture = await connectShapes(
      {
        one: (_, { metadata }) => message(String(heads.includes(metadata))),
        both: async function* (requests, { metadata }) {
          for await (const { typeUrl } of requests) {
            yield message(`${typeUrl} ${heads.includes(metadata)}`);
          }
        },
      },
      { handlers: { admit: ({ metadata }) => void heads.push(metadata) } },
    );
    expect((await fixture.client.one(message(""))).typeUrl).toBe("true");
    const answers: string[] = [];
    for await (const { typeUrl } of fixture.client.both([message("a"), message("b")])) {
      answers.push(typeUrl);
    }
    expect(answers).toEqual(["a true", "b true"]);
  });

  it("fails a call with what it throws", async () => {
    await using fixture = await connectShapes(
      { one: () => message("") },
      {
        handlers: {
          admit: ({ metadata }) => {
            if (metadata.get("authorization").length > 0) return;
            throw new RpcError("UNAUTHENTICATED", "no token");
          },
        },
      },
    );
    await expect(fixture.client.one(message(""))).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
      rawMessage: "no token",
    });
    const options = { metadata: { authorization: "x" } };
    expect((await fixture.client.one(message(""), options)).typeUrl).toBe("");
  });

  it("begins no call whose client has gone meanwhile", async () => {
    const decision = deferred<void>();
    let handled = 0;
    let asked = false;
    await using fixture = await connectShapes(
      {
        send: async (requests) => {
          handled += 1;
          for await (const _ of requests);
          return message("");
        },
      },
      {
        handlers: {
          admit: async () => {
            asked = true;
            await decision.promise;
          },
        },
      },
    );
    const stopping = new AbortController();
    const call = fixture.client.send([message("")], { signal: stopping.signal });
    await until(() => asked);
    stopping.abort();
    await expect(call).rejects.toBe(stopping.signal.reason);
    await new Promise((resolve) => setTimeout(resolve, 50));
    decision.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(handled).toBe(0);
  });
});

describe.each(SERVER_CARRIERS)("limits of a server over %s", { timeout: 30_000 }, (over) => {
  const connectShapes = shapesOver(over);

  it("refuse a request by its announced length, and leave responses alone", async () => {
    await using fixture = await connectShapes(
      { one: ({ value }) => message("", value.length * 100) },
      { handlers: { maxRequestBytes: MIB } },
    );
    const { value } = await fixture.client.one(message("", 30_000));
    expect(value.length).toBe(3_000_000);
    await expect(fixture.client.one(message("", MIB))).rejects.toMatchObject({
      code: "RESOURCE_EXHAUSTED",
    });
    const call = pour(portOf(fixture.server.address), "/stackwright.test.Shapes/One", 200 * MIB);
    await until(() => call.status !== "");
    expect(call.status).toBe("8");
  });

  it("bound the calls that a connection has open", async () => {
    let open = 0;
    let most = 0;
    const gate = deferred<void>();
    await using fixture = await connectShapes(
      {
        one: async () => {
          open += 1;
          most = Math.max(most, open);
          await gate.promise;
          open -= 1;
          return message("");
        },
      },
      { server: { maxConcurrentCalls: 3 } },
    );
    const first = fixture.client.one(message(""));
    await until(() => open === 1);
    const others = Array.from({ length: 9 }, () => fixture.client.one(message("")));
    await until(() => open === 3);
    await new Promise((resolve) => setTimeout(resolve, 100));
    gate.resolve();
    await Promise.all([first, ...others]);
    expect(most).toBe(3);
  });
});
