import { setTimeout as delay } from "node:timers/promises";
import { deferred } from "@stackwright/base/deferred";
import { describe, expect, it } from "vitest";
import { CARRIERS, collect, shapesOver, until } from "../testing/shapes-fixture.ts";
import { message } from "../testing/shapes-service.ts";

describe.each(CARRIERS)("over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  const MESSAGE_BYTES = 256 * 1024;
  const BUFFER_BYTES = 512 * 1024;
  /** Both buffers, one message each in hand, and what HTTP/2 and the sockets hold. */
  const MOST_UNDER_WAY = 24;

  /** Waits until a counter has not changed for a while. */
  async function settled(counter: () => number): Promise<number> {
    for (let before = -1; before !== counter(); ) {
      before = counter();
      await delay(150);
    }
    return counter();
  }

  describe("flow control", () => {
    it("stops a producer whose consumer does not read, and lets it continue", async () => {
      let produced = 0;
      await using fixture = await connectShapes(
        {
          receive: async function* () {
            for (; produced < 100; produced += 1) yield message(`${produced}`, MESSAGE_BYTES);
          },
        },
        { handlers: { bufferBytes: BUFFER_BYTES } },
      );
      const responses = fixture.client.receive(message(""), { bufferBytes: BUFFER_BYTES });
      await responses.next();
      expect(await settled(() => produced)).toBeLessThan(MOST_UNDER_WAY);
      let consumed = 1;
      for await (const response of responses) {
        expect(response.typeUrl).toBe(`${consumed}`);
        consumed += 1;
        expect(produced - consumed).toBeLessThan(MOST_UNDER_WAY);
      }
      expect(consumed).toBe(100);
    });

    it("stops a client that sends more than the handler reads", async () => {
      let sent = 0;
      const go = deferred<void>();
      await using fixture = await connectShapes(
        {
          send: async (requests) => {
            await go.promise;
            return message(`${(await collect(requests)).length}`);
          },
        },
        { handlers: { bufferBytes: BUFFER_BYTES } },
      );
      function* requests() {
        for (; sent < 100; sent += 1) yield message("", MESSAGE_BYTES);
      }
      const response = fixture.client.send(requests(), { bufferBytes: BUFFER_BYTES });
      expect(await settled(() => sent)).toBeLessThan(MOST_UNDER_WAY);
      go.resolve();
      expect(await response).toEqual(message("100"));
    });

    it("counts empty messages too", async () => {
      let produced = 0;
      await using fixture = await connectShapes(
        {
          receive: function* () {
            for (; produced < 200_000; produced += 1) yield message("");
          },
        },
        { handlers: { bufferBytes: 10_000 } },
      );
      await using responses = fixture.client.receive(message(""), { bufferBytes: 10_000 });
      await responses.next();
      expect(await settled(() => produced)).toBeLessThan(150_000);
    });

    it("relays a stream item by item", async () => {
      let produced = 0;
      let isLeft = false;
      await using backend = await connectShapes(
        {
          receive: async function* () {
            try {
              for (; ; produced += 1) yield message("", MESSAGE_BYTES);
            } finally {
              isLeft = true;
            }
          },
        },
        { handlers: { bufferBytes: BUFFER_BYTES } },
      );
      await using front = await connectShapes(
        {
          receive: (request, { signal }) =>
            backend.client.receive(request, { signal, bufferBytes: BUFFER_BYTES }),
        },
        { handlers: { bufferBytes: BUFFER_BYTES } },
      );
      const responses = front.client.receive(message(""), { bufferBytes: BUFFER_BYTES });
      await responses.next();
      expect(await settled(() => produced)).toBeLessThan(2 * MOST_UNDER_WAY);
      await responses.return();
      await until(() => isLeft);
    });
  });
});
