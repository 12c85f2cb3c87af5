import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import {
  CARRIERS,
  collect,
  type ShapesFixture,
  shapesOver,
  until,
} from "../testing/shapes-fixture.ts";
import { message } from "../testing/shapes-service.ts";
import { RpcError } from "./rpc-error.ts";

describe.each(CARRIERS)("over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  const shapes = {
    one: ({ typeUrl }: { typeUrl: string }) => {
      if (typeUrl === "fail") throw new RpcError("ABORTED", "");
      return message("");
    },
    receive: function* () {
      for (let i = 0; i < 20; i += 1) yield message("");
    },
    send: async (requests: AsyncIterable<unknown>) => {
      await collect(requests);
      return message("");
    },
    both: async function* (requests: AsyncIterable<unknown>) {
      for await (const _ of requests) yield message("");
    },
  };

  /** One call of each shape and end. */
  async function callAll({ client }: ShapesFixture, signal: AbortSignal): Promise<void> {
    const options = { signal, timeoutMs: 60_000 };
    const requests = [message("a"), message("b")];
    await Promise.all([
      client.one(message(""), options),
      expect(client.one(message("fail"), options)).rejects.toBeInstanceOf(RpcError),
      collect(client.receive(message(""), options)),
      client.send(requests, options),
      collect(client.both(requests, options)),
      (async () => {
        for await (const _ of client.receive(message(""), options)) break;
      })(),
      (async () => {
        await using responses = client.both(requests, options);
        await responses.next();
      })(),
    ]);
  }

  /** How many sockets and pipes are open, servers included; others come and go with the runner. */
  function openHandles(): number {
    return process.getActiveResourcesInfo().filter((name) => /TCP|Pipe/.test(name)).length;
  }

  describe("after many calls", () => {
    it("nothing listens to a signal that they shared, and no warning was written", async () => {
      const warnings: Error[] = [];
      const onWarning = (warning: Error) => warnings.push(warning);
      process.on("warning", onWarning);
      const { signal } = new AbortController();
      await using fixture = await connectShapes(shapes);
      await Promise.all(Array.from({ length: 30 }, () => callAll(fixture, signal)));
      expect(getEventListeners(signal, "abort")).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
      process.off("warning", onWarning);
      expect(warnings).toEqual([]);
    });

    it("nothing is open once channel and server are closed", async () => {
      const before = openHandles();
      {
        await using fixture = await connectShapes(shapes);
        for (let i = 0; i < 10; i += 1) await callAll(fixture, new AbortController().signal);
        expect(openHandles()).toBeGreaterThan(before);
      }
      await until(() => openHandles() <= before);
    });
  });
});
