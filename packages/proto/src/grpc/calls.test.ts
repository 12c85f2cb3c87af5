import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Any } from "../gen/google/protobuf/any.ts";
import { CARRIERS, clientOf, collect, type Shapes, shapesOver } from "../testing/shapes-fixture.ts";
import { message, ShapesService } from "../testing/shapes-service.ts";
import { openChannel } from "./channel.ts";
import { createClient } from "./client.ts";
import { implementService } from "./implement.ts";
import { createMetadata } from "./metadata.ts";
import { RpcError } from "./rpc-error.ts";
import { startServer } from "./server.ts";
import type { HandlerContext } from "./server-call.ts";

describe.each(CARRIERS)("over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  const texts = async (messages: AsyncIterable<Any>): Promise<string[]> =>
    (await collect(messages)).map(({ typeUrl }) => typeUrl);

  describe("the four shapes", () => {
    it("calls with one request and one response", async () => {
      await using fixture = await connectShapes({ one: ({ typeUrl }) => message(`${typeUrl}!`) });
      expect(await fixture.client.one(message("a"))).toEqual(message("a!"));
    });

    it("calls with one request and a stream of responses", async () => {
      await using fixture = await connectShapes({
        receive: async function* ({ typeUrl }) {
          for (let i = 0; i < 3; i += 1) yield message(`${typeUrl}${i}`);
        },
      });
      expect(await texts(fixture.client.receive(message("a")))).toEqual(["a0", "a1", "a2"]);
    });

    it("calls with a stream of requests and one response", async () => {
      await using fixture = await connectShapes({
        send: async (requests) => message((await texts(requests)).join()),
      });
      const requests = [message("a"), message("b"), message("c")];
      expect(await fixture.client.send(requests)).toEqual(message("a,b,c"));
      expect(await fixture.client.send([])).toEqual(message(""));
    });

    it("calls with a stream of requests and a stream of responses", async () => {
      await using fixture = await connectShapes({
        both: async function* (requests) {
          for await (const { typeUrl } of requests) yield message(`${typeUrl}!`);
          yield message("end");
        },
      });
      async function* requests() {
        yield message("a");
        await delay(1);
        yield message("b");
      }
      expect(await texts(fixture.client.both(requests()))).toEqual(["a!", "b!", "end"]);
    });

    it("calls handlers as methods of an instance", async () => {
      class Greeter implements Shapes {
        readonly #greeting = "hello";
        one({ typeUrl }: Any): Any {
          return message(`${this.#greeting} ${typeUrl}`);
        }
      }
      await using fixture = await connectShapes(new Greeter());
      expect(await fixture.client.one(message("you"))).toEqual(message("hello you"));
    });

    it("answers UNIMPLEMENTED where there is no handler", async () => {
      await using fixture = await connectShapes({});
      await expect(fixture.client.one(message(""))).rejects.toMatchObject({
        code: "UNIMPLEMENTED",
      });
      await expect(texts(fixture.client.receive(message("")))).rejects.toMatchObject({
        code: "UNIMPLEMENTED",
      });
    });

    it("passes messages of 64 MB in both directions", { timeout: 60_000 }, async () => {
      await using fixture = await connectShapes({ one: ({ value }) => ({ typeUrl: "", value }) });
      const size = 64 * 1024 * 1024;
      const { value } = await fixture.client.one(message("", size));
      expect(value.length).toBe(size);
    });

    it("refuses messages over the limit of the receiver", async () => {
      await using server = await startServer({
        services: [implementService(ShapesService, { one: () => message("") })],
        maxMessageBytes: 1000,
      });
      await using channel = openChannel(server.address, { carrier: clientOf(carrier) });
      const call = createClient(ShapesService, channel).one(message("", 2000));
      await expect(call).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    });
  });

  describe("metadata", () => {
    it("goes there with the call and comes back before and after the response", async () => {
      let context: HandlerContext | undefined;
      let address = "";
      await using fixture = await connectShapes({
        one: (_, given) => {
          context = given;
          ({ address } = given.peer);
          given.sendHeader(createMetadata({ "x-header": "h" }));
          given.trailer.set("x-trailer", "t");
          return message("");
        },
      });
      const seen: unknown[] = [];
      await fixture.client.one(message(""), {
        metadata: { "x-request": ["a", "b"], "x-bytes-bin": Uint8Array.of(0, 255) },
        onHeader: (header) => seen.push(header.get("x-header")),
        onTrailer: (trailer) => seen.push(trailer.get("x-trailer")),
      });
      expect(seen).toEqual([["h"], ["t"]]);
      // Node joins what comes in several headers of a name.
      expect(context?.metadata.get("x-request").join(", ")).toBe("a, b");
      expect(context?.metadata.get("x-bytes-bin")).toEqual([Buffer.from([0, 255])]);
      expect(context?.method).toBe("/stackwright.test.Shapes/One");
      expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
      expect(context?.deadline).toBeUndefined();
    });

    it("comes back with streams and with errors", async () => {
      await using fixture = await connectShapes({
        receive: async function* (_, { trailer }) {
          trailer.set("x-trailer", "t");
          yield message("");
          throw new RpcError("NOT_FOUND", "no", { metadata: { "x-error": "e" } });
        },
      });
      const trailers: unknown[] = [];
      const responses = fixture.client.receive(message(""), {
        onTrailer: (trailer) => trailers.push(trailer.get("x-trailer"), trailer.get("x-error")),
      });
      await expect(texts(responses)).rejects.toMatchObject({ code: "NOT_FOUND" });
      expect(trailers).toEqual([["t"], ["e"]]);
    });

    it("fails the call when the caller's function throws", async () => {
      await using fixture = await connectShapes({ one: () => message("") });
      const failure = new Error("mine");
      const fail = () => {
        throw failure;
      };
      await expect(fixture.client.one(message(""), { onHeader: fail })).rejects.toBe(failure);
      await expect(fixture.client.one(message(""), { onTrailer: fail })).rejects.toBe(failure);
    });
  });

  describe("errors", () => {
    it("come with code and text in every shape", async () => {
      const fail = (): never => {
        throw new RpcError("NOT_FOUND", "nothing “here” 100%\nreally");
      };
      await using fixture = await connectShapes({
        one: fail,
        receive: fail,
        send: fail,
        both: fail,
      });
      const { client } = fixture;
      const expected = {
        code: "NOT_FOUND",
        rawMessage: "nothing “here” 100%\nreally",
        retryable: false,
      };
      await expect(client.one(message(""))).rejects.toMatchObject(expected);
      await expect(client.send([])).rejects.toMatchObject(expected);
      await expect(texts(client.receive(message("")))).rejects.toMatchObject(expected);
      await expect(texts(client.both([]))).rejects.toMatchObject(expected);
    });

    it("come behind the responses that were sent before", async () => {
      await using fixture = await connectShapes({
        receive: async function* () {
          for (let i = 0; i < 500; i += 1) yield message(`${i}`, 1000);
          throw new RpcError("ABORTED", "enough");
        },
      });
      const responses = fixture.client.receive(message(""));
      let count = 0;
      const read = async () => {
        for await (const response of responses) {
          if (count % 100 === 0) await delay(5);
          expect(response.typeUrl).toBe(`${count}`);
          count += 1;
        }
      };
      await expect(read()).rejects.toMatchObject({ code: "ABORTED" });
      expect(count).toBe(500);
      expect(await responses.next()).toEqual({ done: true, value: undefined });
    });

    it("that are no RpcError become UNKNOWN with their text, and are reported", async () => {
      const reported: unknown[] = [];
      const failure = new Error("a bug");
      const binding = implementService(
        ShapesService,
        {
          one: () => {
            throw failure;
          },
        },
        { onError: (error) => reported.push(error) },
      );
      await using server = await startServer({ services: [binding] });
      await using channel = openChannel(server.address, { carrier: clientOf(carrier) });
      const call = createClient(ShapesService, channel).one(message(""));
      await expect(call).rejects.toMatchObject({ code: "UNKNOWN", rawMessage: "a bug" });
      expect(reported).toEqual([failure]);
    });

    it("may be chosen by the server's options", async () => {
      const binding = implementService(
        ShapesService,
        { one: () => Promise.reject(new Error("secret")) },
        { mapError: (_, { method }) => new RpcError("INTERNAL", `failed: ${method}`) },
      );
      await using server = await startServer({ services: [binding] });
      await using channel = openChannel(server.address, { carrier: clientOf(carrier) });
      const call = createClient(ShapesService, channel).one(message(""));
      await expect(call).rejects.toMatchObject({
        code: "INTERNAL",
        rawMessage: "failed: /stackwright.test.Shapes/One",
      });
    });

    it("in reading or writing messages are INTERNAL and leave the connection alone", async () => {
      const broken = {
        ...ShapesService,
        one: {
          ...ShapesService.one,
          responseDeserialize: (): Any => {
            throw new Error("cannot");
          },
        },
        send: {
          ...ShapesService.send,
          requestSerialize: (): Buffer => {
            throw new Error("cannot");
          },
        },
      };
      await using fixture = await connectShapes({
        one: () => message(""),
        send: async (requests) => message((await texts(requests)).join()),
        receive: () => [undefined as unknown as Any],
      });
      const client = createClient(broken, fixture.channel);
      const expected = { code: "INTERNAL", cause: expect.any(Error) };
      await expect(client.one(message(""))).rejects.toMatchObject(expected);
      await expect(client.send([message("")])).rejects.toMatchObject(expected);
      await expect(texts(client.receive(message("")))).rejects.toMatchObject({ code: "INTERNAL" });
      expect(await fixture.client.one(message(""))).toEqual(message(""));
    });

    it("say UNAVAILABLE, to be retried, when there is no server", async () => {
      await using channel = openChannel(
        { host: "127.0.0.1", port: 1 },
        { carrier: clientOf(carrier) },
      );
      const call = createClient(ShapesService, channel).one(message(""));
      await expect(call).rejects.toMatchObject({
        code: "UNAVAILABLE",
        retryable: true,
        rawMessage: "No connection established: connect ECONNREFUSED 127.0.0.1:1",
      });
    });
  });
});
