import { setTimeout as delay } from "node:timers/promises";
import { deferred } from "@stackwright/base/deferred";
import { describe, expect, it } from "vitest";
import { CARRIERS, collect, shapesOver, until } from "../testing/shapes-fixture.ts";
import { message } from "../testing/shapes-service.ts";
import { RpcError } from "./rpc-error.ts";
import type { HandlerContext } from "./server-call.ts";

describe.each(CARRIERS)("over %s", (carrier) => {
  const connectShapes = shapesOver(carrier);

  /** Resolves when the signal aborts. */
  function aborted(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Handlers that never finish by themselves, and what they see. */
  function hanging() {
    const contexts: HandlerContext[] = [];
    const left: string[] = [];
    const hang = async ({ signal }: HandlerContext): Promise<never> => {
      await aborted(signal);
      throw signal.reason;
    };
    return {
      contexts,
      left,
      shapes: {
        one: (_: unknown, context: HandlerContext) => {
          contexts.push(context);
          return hang(context);
        },
        receive: async function* (_: unknown, context: HandlerContext) {
          contexts.push(context);
          try {
            yield message("first");
            await hang(context);
          } finally {
            left.push("receive");
          }
        },
        send: async (requests: AsyncIterable<unknown>, context: HandlerContext) => {
          contexts.push(context);
          try {
            await collect(requests);
            return await hang(context);
          } catch (error) {
            left.push(`send: ${RpcError.from(error).code}`);
            throw error;
          }
        },
        both: async function* (requests: AsyncIterable<unknown>, context: HandlerContext) {
          contexts.push(context);
          try {
            for await (const _ of requests) yield message("echo");
            await hang(context);
          } finally {
            left.push("both");
          }
        },
      },
    };
  }

  /** A source of requests that gives one and then waits, and tells when it is left. */
  function endlessRequests() {
    const state = { isLeft: false };
    const forever = deferred<never>();
    return {
      state,
      requests: {
        [Symbol.asyncIterator]() {
          let count = 0;
          return {
            next: () => {
              count += 1;
              if (count > 1) return forever.promise;
              return Promise.resolve({ done: false as const, value: message("request") });
            },
            return: () => {
              state.isLeft = true;
              return Promise.resolve({ done: true as const, value: undefined });
            },
          };
        },
      },
    };
  }

  const reason = new Error("not wanted any more");

  describe("aborting the signal of a call", () => {
    it("before the call rejects without sending anything", async () => {
      const { contexts, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      const signal = AbortSignal.abort(reason);
      const source = endlessRequests();
      await expect(fixture.client.one(message(""), { signal })).rejects.toBe(reason);
      await expect(fixture.client.send([], { signal })).rejects.toBe(reason);
      await expect(fixture.client.receive(message(""), { signal }).next()).rejects.toBe(reason);
      await expect(fixture.client.both(source.requests, { signal }).next()).rejects.toBe(reason);
      await delay(20);
      expect(contexts).toEqual([]);
    });

    it("rejects with its reason and cancels on the server, in every shape", async () => {
      const { contexts, left, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      const { client } = fixture;
      const source = endlessRequests();
      const starts: ((signal: AbortSignal) => Promise<unknown>)[] = [
        (signal) => client.one(message(""), { signal }),
        (signal) => collect(client.receive(message(""), { signal })),
        (signal) => client.send(source.requests, { signal }),
        (signal) => collect(client.both(endlessRequests().requests, { signal })),
      ];
      for (const [index, start] of starts.entries()) {
        const controller = new AbortController();
        const call = start(controller.signal);
        await until(() => contexts.length > index);
        controller.abort(reason);
        await expect(call).rejects.toBe(reason);
        const context = contexts[index]!;
        await aborted(context.signal);
        expect(context.signal.reason).toMatchObject({ code: "CANCELLED" });
      }
      await until(() => left.length === 3);
      expect(left.sort()).toEqual(["both", "receive", "send: CANCELLED"]);
      expect(source.state.isLeft).toBe(true);
    });

    it("drops responses that were not taken", async () => {
      await using fixture = await connectShapes({
        receive: () => Array.from({ length: 10 }, (_, index) => message(`${index}`)),
      });
      const controller = new AbortController();
      const responses = fixture.client.receive(message(""), { signal: controller.signal });
      await responses.next();
      await delay(20);
      controller.abort(reason);
      await expect(responses.next()).rejects.toBe(reason);
      expect(await responses.next()).toEqual({ done: true, value: undefined });
    });

    it("after the end changes nothing", async () => {
      await using fixture = await connectShapes({ one: () => message("done") });
      const controller = new AbortController();
      const call = fixture.client.one(message(""), { signal: controller.signal });
      expect(await call).toEqual(message("done"));
      controller.abort(reason);
    });
  });

  describe("leaving a stream of responses", () => {
    it("cancels the call when a loop ends early", async () => {
      const { contexts, left, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      for await (const response of fixture.client.receive(message(""))) {
        expect(response).toEqual(message("first"));
        break;
      }
      await until(() => left.length === 1);
      expect(contexts[0]!.signal.aborted).toBe(true);
    });

    it("ends a pending next at once", async () => {
      const { left, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      const responses = fixture.client.receive(message(""));
      await responses.next();
      const pending = responses.next();
      await responses.return();
      expect(await pending).toEqual({ done: true, value: undefined });
      await until(() => left.length === 1);
    });

    it("leaves the source of requests too", async () => {
      const { left, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      const source = endlessRequests();
      await using responses = fixture.client.both(source.requests);
      await responses.next();
      await responses.return();
      expect(source.state.isLeft).toBe(true);
      await until(() => left.length === 1);
    });

    it("before it is begun sends nothing", async () => {
      const { contexts, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      const responses = fixture.client.receive(message(""));
      await responses.return();
      expect(await responses.next()).toEqual({ done: true, value: undefined });
      await delay(20);
      expect(contexts).toEqual([]);
    });
  });

  describe("a source of requests", () => {
    it("that throws cancels the call, which rejects with what was thrown", async () => {
      const { contexts, left, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      async function* requests() {
        yield message("");
        await until(() => contexts.length > 0);
        throw reason;
      }
      await expect(fixture.client.send(requests())).rejects.toBe(reason);
      contexts.length = 0;
      await expect(collect(fixture.client.both(requests()))).rejects.toBe(reason);
      await until(() => left.length === 2);
    });

    it("is left when the server answers before its end", async () => {
      await using fixture = await connectShapes({
        send: () => message("early"),
        both: () => [message("early")],
      });
      const source = endlessRequests();
      expect(await fixture.client.send(source.requests)).toEqual(message("early"));
      await until(() => source.state.isLeft);
      const other = endlessRequests();
      expect(await collect(fixture.client.both(other.requests))).toEqual([message("early")]);
      await until(() => other.state.isLeft);
    });
  });

  describe("deadlines", () => {
    it("are sent to the server and end the call on both sides", async () => {
      const { contexts, shapes } = hanging();
      await using fixture = await connectShapes(shapes);
      const { client } = fixture;
      const options = { timeoutMs: 100 };
      await expect(client.one(message(""), options)).rejects.toMatchObject({
        code: "DEADLINE_EXCEEDED",
      });
      await expect(collect(client.receive(message(""), options))).rejects.toMatchObject({
        code: "DEADLINE_EXCEEDED",
      });
      const deadline = new Date(Date.now() + 100);
      const call = client.send(endlessRequests().requests, { deadline, timeoutMs: 60_000 });
      await expect(call).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
      for (const context of contexts) {
        await aborted(context.signal);
        expect(context.signal.reason).toBeInstanceOf(RpcError);
        expect(Math.abs(context.deadline!.getTime() - Date.now())).toBeLessThan(5000);
      }
      expect(contexts.length).toBe(3);
    });

    it("that have passed fail the call at once", async () => {
      await using fixture = await connectShapes({ one: () => message("") });
      const call = fixture.client.one(message(""), { deadline: new Date(0) });
      await expect(call).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
    });
  });

  describe("the context's signal", () => {
    it("does not abort when the call ends by itself", async () => {
      const signals: AbortSignal[] = [];
      await using fixture = await connectShapes({
        one: (_, { signal }) => {
          signals.push(signal);
          return message("");
        },
        receive: async function* (_, { signal }) {
          signals.push(signal);
          yield message("");
        },
        send: async (requests, { signal }) => {
          signals.push(signal);
          await collect(requests);
          throw new RpcError("ABORTED", "");
        },
      });
      await fixture.client.one(message(""));
      await collect(fixture.client.receive(message("")));
      await expect(fixture.client.send([message("")])).rejects.toMatchObject({ code: "ABORTED" });
      await fixture.channel.close();
      await delay(20);
      expect(signals.map((signal) => signal.aborted)).toEqual([false, false, false]);
    });

    it("passes a cancellation on to a call that the handler makes", async () => {
      const inner = hanging();
      await using backend = await connectShapes(inner.shapes);
      await using front = await connectShapes({
        one: (request, { signal }) => backend.client.one(request, { signal }),
      });
      const controller = new AbortController();
      const call = front.client.one(message(""), { signal: controller.signal });
      await until(() => inner.contexts.length === 1);
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
      await aborted(inner.contexts[0]!.signal);
    });
  });
});
