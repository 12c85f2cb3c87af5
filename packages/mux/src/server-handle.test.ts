import { channel } from "node:diagnostics_channel";
import { systemClock } from "@stackwright/base/clock";
import { type Deferred, deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import { CreateRequest, ListRequest } from "@stackwright/proto/pulumirpc";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MUX_CHANNELS, type MuxCallMessage } from "./diagnostics.ts";
import { MuxError } from "./errors.ts";
import type { ResourceProvider } from "./resource-provider.ts";
import { ServerHandle, type ServerLimits } from "./server-handle.ts";
import { unimplementedProvider } from "./unimplemented-provider.ts";

const REQUEST = CreateRequest.create({ urn: "urn:pulumi:dev::shop::a:b:C::d" });
const REPLY = { id: "1", properties: undefined, refreshBeforeUpdate: false };

function handleOf(methods: Partial<ResourceProvider>, limits: ServerLimits = {}) {
  return new ServerHandle({
    name: "s",
    package: "p",
    provider: { ...unimplementedProvider(), ...methods },
    limits,
    clock: systemClock,
  });
}

/** A create that is answered from outside, call by call. */
function controlled() {
  const calls: (Deferred<typeof REPLY> & {
    readonly signal: AbortSignal | undefined;
  })[] = [];
  const create: ResourceProvider["create"] = (_request, { signal }) => {
    const call = { ...deferred<typeof REPLY>(), signal };
    calls.push(call);
    return call.promise;
  };
  return { calls, create };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the limits of a server", () => {
  it("hold back calls above the concurrency, and refuse those for which there is no room", async () => {
    const { calls, create } = controlled();
    const handle = handleOf({ create }, { maxConcurrent: 1, maxWaiting: 1 });
    const first = handle.call("create", REQUEST, {});
    const second = handle.call("create", REQUEST, {});
    await expect(handle.call("create", REQUEST, {})).rejects.toMatchObject({
      code: "MUX_SERVER_OVERLOADED",
      retryable: true,
    });
    expect([calls.length, handle.load]).toEqual([1, { running: 1, waiting: 1 }]);
    calls[0]?.resolve(REPLY);
    expect(await first).toBe(REPLY);
    await vi.waitFor(() => expect(calls).toHaveLength(2));
    calls[1]?.resolve(REPLY);
    expect(await second).toBe(REPLY);
    expect(handle.load).toEqual({ running: 0, waiting: 0 });
  });

  it("may have another deadline, or none, for a single method", async () => {
    const forever = () => new Promise<never>(() => undefined);
    const handle = handleOf(
      { create: forever, delete: forever, check: forever },
      { callTimeoutMs: 100, methodTimeoutMs: { create: 5000, check: Number.POSITIVE_INFINITY } },
    );
    const ended: string[] = [];
    for (const method of ["create", "delete", "check"] as const) {
      handle.call(method, REQUEST as never, {}).catch((error: MuxError) => {
        ended.push(`${method} ${error.code}`);
      });
    }
    await vi.advanceTimersByTimeAsync(4999);
    expect(ended).toEqual(["delete MUX_SERVER_TIMEOUT"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toEqual(["delete MUX_SERVER_TIMEOUT", "create MUX_SERVER_TIMEOUT"]);
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(ended.length).toBe(2);
    handle.abort(new Error("end"));
  });

  it("give a call up at its deadline, also one that is still waiting", async () => {
    const { calls, create } = controlled();
    const handle = handleOf({ create }, { callTimeoutMs: 100, maxConcurrent: 1 });
    const both = Promise.allSettled([
      handle.call("create", REQUEST, {}),
      handle.call("create", REQUEST, {}),
    ]);
    await vi.advanceTimersByTimeAsync(100);
    expect(await both).toMatchObject([
      { reason: { code: "MUX_SERVER_TIMEOUT", server: "s" } },
      { reason: { code: "MUX_SERVER_TIMEOUT", server: "s" } },
    ]);
    expect(calls[0]?.signal?.aborted).toBe(true);
    expect([handle.health, handle.load]).toEqual(["degraded", { running: 0, waiting: 0 }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("count a whole stream as one call", async () => {
    const handle = handleOf(
      {
        async *list() {
          yield { response: undefined };
          yield { response: undefined };
        },
      },
      { maxConcurrent: 1 },
    );
    const reader = handle.stream("list", ListRequest.create({}), {});
    await reader.next();
    expect(handle.load.running).toBe(1);
    await reader.return();
    expect(handle.load.running).toBe(0);
  });
});

describe("a call to a server", () => {
  it("rejects with the reason of its caller at once, and the server sees it", async () => {
    const { calls, create } = controlled();
    const handle = handleOf({ create });
    const controller = new AbortController();
    const call = handle.call("create", REQUEST, { signal: controller.signal });
    // Looked at before it is aborted, and only later.
    expect(calls[0]?.signal?.aborted).toBe(false);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(calls[0]?.signal?.reason).toBe(reason);
    calls[0]?.reject(new Error("late, and nobody listens"));
    expect(handle.load.running).toBe(0);
  });

  it("does not begin for a caller that has given up", async () => {
    const { calls, create } = controlled();
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(handleOf({ create }).call("create", REQUEST, { signal })).rejects.toThrow(
      "too late",
    );
    expect(calls).toEqual([]);
  });

  it("keeps an error status, and names the server in a crash, sync or async", async () => {
    const status = new RpcError("ALREADY_EXISTS", "there is one");
    await expect(
      handleOf({ create: () => Promise.reject(status) }).call("create", REQUEST, {}),
    ).rejects.toBe(status);
    const crashes: Partial<ResourceProvider>[] = [
      { create: () => Promise.reject(new TypeError("x is undefined")) },
      {
        create: () => {
          throw new TypeError("x is undefined");
        },
      },
      { create: (() => undefined) as unknown as ResourceProvider["create"] },
    ];
    for (const methods of crashes) {
      await expect(handleOf(methods).call("create", REQUEST, {})).rejects.toMatchObject({
        code: "MUX_SERVER_CRASHED",
        server: "s",
        message: expect.stringContaining("Create"),
      });
    }
  });

  it("names the server where the way to it failed, and leaves its own answers as they are", async () => {
    const ways: [RpcError | MuxError, object][] = [
      [new RpcError("UNAVAILABLE", "connection refused"), { code: "UNAVAILABLE" }],
      [new RpcError("INTERNAL", "Received RST_STREAM with code 2"), { code: "INTERNAL" }],
      [new RpcError("DEADLINE_EXCEEDED", "Deadline exceeded after 1s"), {}],
      [new MuxError("MUX_PROCESS_ENDED", "the process ended"), { server: "s", retryable: true }],
      [
        new MuxError("MUX_PROCESS_CRASHED", "the process died"),
        { server: "s", outcome: "unknown" },
      ],
    ];
    for (const [error, expected] of ways) {
      const failing = handleOf({ create: () => Promise.reject(error) });
      await expect(failing.call("create", REQUEST, {})).rejects.toMatchObject({
        ...expected,
        message: expect.stringContaining("server s: "),
      });
    }
    const answers = [
      new RpcError("INTERNAL", "disk full", { details: [] }),
      new RpcError("NOT_FOUND", "no such thing"),
      new MuxError("MUX_TOKEN_UNKNOWN", "from a mux within"),
      new MuxError("MUX_SERVER_UNAVAILABLE", "server inner is gone", { server: "inner" }),
    ];
    for (const answer of answers) {
      const failing = handleOf({ create: () => Promise.reject(answer) });
      await expect(failing.call("create", REQUEST, {})).rejects.toBe(answer);
    }
  });

  it("shows the loss of the server in its health until the next success", async () => {
    let isDown = true;
    const handle = handleOf({
      create: async () => {
        if (isDown) throw new RpcError("UNAVAILABLE", "connection refused");
        return REPLY;
      },
    });
    expect(handle.health).toBe("ready");
    await expect(handle.call("create", REQUEST, {})).rejects.toThrow();
    expect(handle.health).toBe("degraded");
    isDown = false;
    await handle.call("create", REQUEST, {});
    expect(handle.health).toBe("ready");
  });

  it("is published with server, method, duration and code", async () => {
    const messages: MuxCallMessage[] = [];
    const listen = (message: unknown) => void messages.push(message as MuxCallMessage);
    channel(MUX_CHANNELS.call).subscribe(listen);
    const { calls, create } = controlled();
    const handle = handleOf({ create });
    try {
      const call = handle.call("create", REQUEST, {});
      vi.advanceTimersByTime(30);
      calls[0]?.resolve(REPLY);
      await call;
      await handle.call("delete", { ...REQUEST } as never, {}).catch(() => undefined);
    } finally {
      channel(MUX_CHANNELS.call).unsubscribe(listen);
    }
    expect(messages).toEqual([
      { package: "p", server: "s", method: "Create", durationMs: expect.closeTo(30, 6) as number },
      { package: "p", server: "s", method: "Delete", durationMs: 0, code: "UNIMPLEMENTED" },
    ]);
  });
});

describe("cancelling a server", () => {
  it("goes past a full server and its deadlines", async () => {
    const { calls, create } = controlled();
    const cancel = vi.fn(async () => ({}));
    const handle = handleOf({ create, cancel }, { maxConcurrent: 1, maxWaiting: 1 });
    const running = handle.call("create", REQUEST, {});
    const waiting = handle.call("create", REQUEST, {});
    await handle.cancel({});
    expect(cancel).toHaveBeenCalledOnce();
    calls[0]?.resolve(REPLY);
    await running;
    await vi.waitFor(() => expect(calls).toHaveLength(2));
    calls[1]?.resolve(REPLY);
    await waiting;
  });

  it("gives every call up when the server does not answer in time", async () => {
    const { create } = controlled();
    const handle = handleOf(
      { create, cancel: () => new Promise(() => undefined) },
      { cancelTimeoutMs: 50 },
    );
    const all = Promise.allSettled([handle.call("create", REQUEST, {}), handle.cancel({})]);
    await vi.advanceTimersByTimeAsync(50);
    expect(await all).toMatchObject([
      { reason: { code: "MUX_SERVER_TIMEOUT" } },
      { reason: { code: "MUX_SERVER_TIMEOUT" } },
    ]);
  });
});

describe("draining a server", () => {
  it("refuses calls, waits for those in progress, and still takes Cancel", async () => {
    const { calls, create } = controlled();
    const handle = handleOf({ create, cancel: async () => ({}) });
    const call = handle.call("create", REQUEST, {});
    const drained = vi.fn();
    const drain = handle.drain().then(drained);
    await expect(handle.call("create", REQUEST, {})).rejects.toMatchObject({
      code: "MUX_SERVER_UNAVAILABLE",
      retryable: true,
    });
    await handle.cancel({});
    expect(drained).not.toHaveBeenCalled();
    calls[0]?.resolve(REPLY);
    await call;
    await drain;
    expect(handle.health).toBe("draining");
  });

  it("cancels what is in progress past its limit", async () => {
    const { create } = controlled();
    const handle = handleOf({ create }, { drainTimeoutMs: 70 });
    const call = handle.call("create", REQUEST, {});
    const failed = expect(call).rejects.toMatchObject({ code: "MUX_SERVER_TIMEOUT" });
    const drain = handle.drain();
    await vi.advanceTimersByTimeAsync(70);
    await failed;
    await drain;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a stream of a server", () => {
  const list = () => ListRequest.create({});

  it("asks for the next item when the reader wants it", async () => {
    let produced = 0;
    const handle = handleOf({
      async *list() {
        for (;;) {
          produced += 1;
          yield { response: undefined };
        }
      },
    });
    const reader = handle.stream("list", list(), {});
    await reader.next();
    await reader.next();
    expect(produced).toBe(2);
    await reader.return();
  });

  it("is left by the server when the reader leaves or the call is given up", async () => {
    const left: string[] = [];
    const handle = handleOf({
      list: (_request, { signal }) => ({
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise(() => undefined),
          return: async () => {
            left.push(String(signal?.aborted));
            return { done: true, value: undefined };
          },
        }),
      }),
    });
    const controller = new AbortController();
    const reader = handle.stream("list", list(), { signal: controller.signal });
    const next = reader.next();
    controller.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    expect(left).toEqual(["true"]);
    expect(handle.load.running).toBe(0);
  });

  it("ends with the error of the server after its items", async () => {
    const handle = handleOf({
      async *list() {
        yield { response: undefined };
        throw new Error("the database is gone");
      },
    });
    const seen: unknown[] = [];
    await expect(async () => {
      for await (const item of handle.stream("list", list(), {})) seen.push(item);
    }).rejects.toMatchObject({ code: "MUX_SERVER_CRASHED" });
    expect(seen).toHaveLength(1);
  });
});
