import { TfpluginError } from "@stackwright/tfplugin";
import { afterEach, describe, expect, it } from "vitest";
import { METHODS } from "../envelope/methods.ts";
import { parseRequest } from "../envelope/request.ts";
import { FgBridgeError } from "../errors.ts";
import type { FunctionServerOptions } from "../function/function-server.ts";
import { serveFunction } from "../function/function-server.ts";
import { createServedResults } from "../function/result-store.ts";
import type { FunctionTarget } from "../target/target.ts";
import { FunctionTargetTable } from "../target/target-table.ts";
import { createScriptedRunner, type ScriptedOptions } from "../testing/scripted-runner.ts";
import type { CallerOptions } from "./caller-options.ts";
import { FunctionCaller } from "./function-caller.ts";

const project = "a61dfe3154de42829367056598d5040f";
const urn = `urn:fss:cn-north-7:${project}:function:default:test:latest`;
const operation = { operationId: "op-1", epoch: 3n };
const cleanup = new Set<AsyncDisposable>();
afterEach(async () => {
  for (const one of cleanup) await one[Symbol.asyncDispose]();
  cleanup.clear();
});

/** A target that records what it is sent, and answers from a list. */
function recording(answers: (object | FgBridgeError)[]) {
  const sent: ReturnType<typeof parseRequest>[] = [];
  const target: FunctionTarget = {
    key: "fake",
    maxRequestBytes: 6 * 1024 * 1024,
    maxAsyncRequestBytes: 256 * 1024,
    async invoke(envelope) {
      sent.push(parseRequest(envelope));
      const answer = answers.shift() ?? { response_data: "" };
      if (answer instanceof FgBridgeError) throw answer;
      return Buffer.from(JSON.stringify(answer));
    },
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { sent, target };
}

function caller(options: CallerOptions = {}) {
  return new FunctionCaller({ retry: { baseMs: 1 }, ...options });
}

async function served(
  script: ScriptedOptions = {},
  options: Partial<FunctionServerOptions> = {},
  callerOptions: CallerOptions = {},
) {
  const runner = createScriptedRunner(script);
  const server = await serveFunction({ runner, port: 0, ...options });
  const table = new FunctionTargetTable({
    functions: { [urn]: { url: server.url } },
    guard: { allow: ["127.0.0.0/8"] },
  });
  const target = table.resolve(urn, { projects: [project] });
  const transport = caller(callerOptions).transport({ target });
  cleanup.add(transport).add(table).add(server);
  return { runner, transport, target };
}

const bytes = Buffer.from([0, 255, 10, ...Buffer.from("bytes")]);
const text = (value: Uint8Array) => Buffer.from(value).toString();
const unreachable = () => new FgBridgeError("FG_UNREACHABLE", "nobody there");
const lost = () => new FgBridgeError("FG_CONNECTION_LOST", "gone");

describe("the caller", () => {
  it("carries every method of the contract to a function and back", async () => {
    const { transport, runner } = await served();
    for (const { name } of METHODS) {
      const answer = await transport.unary(name, bytes, {});
      if (name === "Stop" || name === "Shutdown" || name === "Configure") continue;
      expect(Buffer.compare(answer, bytes), name).toBe(0);
    }
    expect(runner.starts).toBe(11);
  });

  it("sends the configuration with the methods that need it, and the latest one", async () => {
    const { sent, target } = recording([]);
    await using transport = caller().transport({ target });
    await transport.unary("ReadResource", bytes, {});
    await transport.unary("Configure", Buffer.from("first"), {});
    await transport.unary("Configure", Buffer.from("second"), {});
    for (const { name } of METHODS) await transport.unary(name, bytes, {});
    const withConfig = sent.slice(3).filter(({ configData }) => configData.length > 0);
    expect(withConfig.map(({ methodName }) => methodName.split("/").at(-1))).toEqual([
      "ReadResource",
      "PlanResourceChange",
      "ApplyResourceChange",
      "ImportResourceState",
      "ReadDataSource",
    ]);
    expect(sent[0]?.configData.length).toBe(0);
    // The list holds a Configure of its own, which is the latest.
    expect(text(withConfig[0]?.configData ?? new Uint8Array())).toBe(text(bytes));
  });

  it("does not remember a configuration that did not get through", async () => {
    const { sent, target } = recording([{ error: "no" }]);
    await using transport = caller().transport({ target });
    await expect(transport.unary("Configure", bytes, {})).rejects.toThrow();
    await transport.unary("ReadResource", bytes, {});
    expect(sent[1]?.configData.length).toBe(0);
  });

  it("gives all calls of one transport one session, and takes one that it is given", async () => {
    const { sent, target } = recording([]);
    const one = caller();
    const transports = [one.transport({ target }), one.transport({ target })];
    for (const transport of transports) {
      await transport.unary("GetSchema", bytes, {});
      await transport.unary("ReadResource", bytes, {});
    }
    await transports[0]?.unary("ReadResource", bytes, { sessionId: "run-7" });
    const [a, b, c, d, e] = sent.map(({ sessionId }) => sessionId);
    expect(a).toMatch(/^[0-9a-f]{32}$/);
    expect([b, d]).toEqual([a, c]);
    expect(a).not.toBe(c);
    expect(e).toBe("run-7");
  });

  it("sends operation and epoch along, and nothing beyond the contract when it is strict", async () => {
    const { sent, target } = recording([]);
    await using open = caller().transport({ target });
    await open.unary("ApplyResourceChange", bytes, { operation });
    expect(sent[0]?.extensions).toMatchObject({ callId: "op-1", epoch: 3n, attempt: 0 });
    await using strict = caller({ strict: true }).transport({ target });
    await strict.unary("ApplyResourceChange", bytes, { operation });
    expect(sent[1]?.extensions).toEqual({});
  });

  it.each(["GetMetadata", "CallFunction", "MoveResourceState", "ListResource", "", "__proto__"])(
    "knows no method %j",
    async (name) => {
      const { sent, target } = recording([]);
      await using transport = caller().transport({ target });
      const failure = await transport.unary(name, bytes, {}).catch((error: unknown) => error);
      expect(TfpluginError.is(failure, "TFPLUGIN_METHOD_UNIMPLEMENTED")).toBe(true);
      expect(failure).toMatchObject({ outcome: "not-applied" });
      expect(sent).toHaveLength(0);
    },
  );

  it("recovers the status of a provider from the text of its error", async () => {
    const { target } = recording([
      { error: "rpc error: code = Unimplemented desc = unknown method" },
      { error: "rpc error: code = ResourceExhausted desc = \u001b[31mtoo big" },
      { error: "it broke", response_data: "AAAA" },
      { error: "rpc error: code = Unavailable desc = no start", outcome: "not-applied" },
    ]);
    await using transport = caller({ retry: { attempts: 1 } }).transport({ target });
    const call = () => transport.unary("ApplyResourceChange", bytes, {});
    const failure = await call().catch((error: unknown) => error);
    expect(TfpluginError.is(failure, "TFPLUGIN_METHOD_UNIMPLEMENTED")).toBe(true);
    await expect(call()).rejects.toMatchObject({
      code: "FG_FUNCTION_ERROR",
      status: "RESOURCE_EXHAUSTED",
      grpcStatus: 8,
      outcome: "unknown",
      message: expect.not.stringContaining("\u001b") as string,
    });
    await expect(call()).rejects.toMatchObject({ status: "UNKNOWN", outcome: "unknown" });
    await expect(call()).rejects.toMatchObject({ status: "UNAVAILABLE", outcome: "not-applied" });
  });

  it("repeats what reads after any failure that can pass, and an apply only when it did not begin", async () => {
    for (const { name, repeatable } of METHODS.filter(
      (m) => m.name !== "Stop" && m.name !== "Shutdown",
    )) {
      const { sent, target } = recording([lost(), unreachable(), { response_data: "" }]);
      await using transport = caller().transport({ target });
      const done = await transport.unary(name, bytes, {}).then(
        () => "done",
        (error: FgBridgeError) => error.outcome,
      );
      expect([name, done, sent.length]).toEqual([
        name,
        repeatable ? "done" : "unknown",
        repeatable ? 3 : 1,
      ]);
    }
    const { sent, target } = recording([unreachable(), unreachable(), { response_data: "" }]);
    await using transport = caller().transport({ target });
    await transport.unary("ApplyResourceChange", bytes, { operation });
    expect(sent.map(({ extensions }) => extensions.attempt)).toEqual([0, 1, 2]);
  });

  it("waits for an operation that another delivery has begun", async () => {
    const adapter = { name: "a", version: "1", features: ["journal"] };
    const { sent, target } = recording([
      { error: "rpc error: code = Aborted desc = it runs", outcome: "running", adapter },
      { response_data: "", outcome: "running", adapter },
      { response_data: Buffer.from("made").toString("base64"), outcome: "done", adapter },
    ]);
    await using transport = caller().transport({ target });
    expect(text(await transport.unary("ApplyResourceChange", bytes, { operation }))).toBe("made");
    expect(sent.map(({ methodName }) => methodName.split("/").at(-1))).toEqual([
      "ApplyResourceChange",
      "Outcome",
      "Outcome",
    ]);
  });

  it("gives up after some attempts, and when the budget is spent", async () => {
    const { sent, target } = recording(Array.from({ length: 100 }, unreachable));
    await using transport = caller({
      retry: { attempts: 3, baseMs: 1, budget: 4 },
      breaker: { consecutiveFailures: 1000, minimumCalls: 1000 },
    }).transport({ target });
    const call = () => transport.unary("ReadResource", bytes, {}).catch(() => sent.length);
    expect([await call(), await call(), await call(), await call()]).toEqual([3, 6, 7, 8]);
  });

  it("opens the circuit, tries a half-open one with a call that changes nothing, and closes it", async () => {
    let now = 0;
    const answers = Array.from({ length: 5 }, unreachable) as (object | FgBridgeError)[];
    const { sent, target } = recording(answers);
    const one = caller({
      retry: { attempts: 1 },
      clock: {
        monotonicMs: () => now,
        wallMs: () => now,
        after: () => ({ [Symbol.dispose]: () => undefined }),
      },
    });
    await using transport = one.transport({ target });
    const apply = () => transport.unary("ApplyResourceChange", bytes, {});
    for (let i = 0; i < 5; i++)
      await expect(apply()).rejects.toMatchObject({ code: "FG_UNREACHABLE" });
    await expect(apply()).rejects.toMatchObject({
      code: "FG_BREAKER_OPEN",
      outcome: "not-applied",
      retryable: true,
    });
    expect(sent).toHaveLength(5);
    expect(one.breakerState(target)).toBe("open");
    now = 20_000;
    answers.push(lost());
    await expect(apply()).rejects.toMatchObject({ code: "FG_BREAKER_OPEN" });
    expect(sent.at(-1)?.methodName).toBe("/tfplugin5.Provider/GetSchema");
    now = 40_000;
    await apply();
    expect(sent.slice(-2).map(({ methodName }) => methodName.split("/").at(-1))).toEqual([
      "GetSchema",
      "ApplyResourceChange",
    ]);
    expect(one.breakerState(target)).toBe("closed");
  });

  it("does not hold a provider's errors against the function", async () => {
    const { target } = recording(Array.from({ length: 20 }, () => ({ error: "no" })));
    const one = caller();
    await using transport = one.transport({ target });
    for (let i = 0; i < 20; i++)
      await transport.unary("ReadResource", bytes, {}).catch(() => undefined);
    expect(one.breakerState(target)).toBe("closed");
  });

  it("limits calls per function and per session, and keeps a bounded queue", async () => {
    const gates: (() => void)[] = [];
    let most = 0;
    const { target } = recording([]);
    const held: FunctionTarget = {
      ...target,
      invoke: async () => {
        most = Math.max(most, gates.length + 1);
        await new Promise<void>((resolve) => {
          gates.push(resolve);
        });
        return Buffer.from('{"response_data":""}');
      },
    };
    await using transport = caller({
      limits: { perFunction: 3, perSession: 2, queued: 2 },
    }).transport({ target: held });
    const call = (sessionId: string) => transport.unary("ReadResource", bytes, { sessionId });
    const calls = [call("a"), call("a"), call("a"), call("b"), call("b")];
    await expect.poll(() => gates.length).toBe(3);
    await expect(call("c")).rejects.toMatchObject({
      code: "FG_LIMIT_EXCEEDED",
      outcome: "not-applied",
    });
    while (gates.length > 0) {
      gates.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(calls);
    expect(most).toBe(3);
  });

  it("refuses a request that is too large with both sizes, before it is sent", async () => {
    const { sent, target } = recording([]);
    await using transport = caller().transport({ target });
    await expect(
      transport.unary("ApplyResourceChange", Buffer.alloc(4_800_000), {}),
    ).rejects.toMatchObject({
      code: "FG_REQUEST_TOO_LARGE",
      outcome: "not-applied",
      limitBytes: 6 * 1024 * 1024,
    });
    expect(sent).toHaveLength(0);
    await transport.unary("ApplyResourceChange", Buffer.alloc(4_700_000), {});
  });

  it("compresses what is too large once the function has said that it understands", async () => {
    const { transport } = await served();
    const large = Buffer.alloc(10_000_000, "abc");
    await expect(transport.unary("ReadResource", large, {})).rejects.toMatchObject({
      code: "FG_REQUEST_TOO_LARGE",
    });
    await transport.unary("GetSchema", bytes, {});
    expect(Buffer.compare(await transport.unary("ReadResource", large, {}), large)).toBe(0);
  });

  it("fetches a response that the function left elsewhere, and trusts its digest alone", async () => {
    const random = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251));
    const { transport } = await served(
      { script: () => random },
      { results: createServedResults(), maxResponseBytes: 1000 },
    );
    expect(Buffer.compare(await transport.unary("ReadResource", bytes, {}), random)).toBe(0);
    const { target } = recording([
      { response_ref: { url: "/x", sha256: "0".repeat(64), size: 3 } },
    ]);
    const cheating = { ...target, fetchReference: async () => Buffer.from("abc") };
    await using other = caller({ retry: { attempts: 1 } }).transport({ target: cheating });
    await expect(other.unary("ReadResource", bytes, {})).rejects.toMatchObject({
      code: "FG_RESPONSE_INVALID",
    });
  });

  it("fetches responses from nowhere but the function and what the operator listed", async () => {
    const { target } = await served();
    for (const url of [
      "http://169.254.169.254/latest",
      "https://elsewhere.example/x",
      "//elsewhere.example/x",
      "file:///etc/passwd",
      `${target.key.replace("http://", "http://user@")}/results/x`,
    ]) {
      const timeouts = { connectMs: 100, firstByteMs: 100, totalMs: 100 };
      await expect(
        target.fetchReference?.(url, { timeouts, fresh: false, maxBytes: 10 }),
      ).rejects.toMatchObject({ code: "FG_ADDRESS_REFUSED" });
    }
  });

  it("gets the schema once", async () => {
    const { transport, runner } = await served({ script: () => Buffer.from("schema") });
    for (let i = 0; i < 3; i++) {
      expect(text(await transport.unary("GetSchema", new Uint8Array(), {}))).toBe("schema");
    }
    expect(runner.starts).toBe(1);
  });

  it("hears of progress", async () => {
    const { target } = await served();
    const heard: string[] = [];
    await using transport = caller().transport({ target, onProgress: (line) => heard.push(line) });
    await transport.unary("GetSchema", bytes, {});
    await transport.unary("ReadResource", bytes, {});
    expect(heard).toContain("calling ReadResource");
  });

  it("hears of progress beside an answer of full size", async () => {
    const large = Buffer.alloc(4_718_000, "a");
    const { target } = await served({ script: () => large });
    await using transport = caller().transport({ target, onProgress: () => undefined });
    for (let i = 0; i < 2; i++) {
      expect((await transport.unary("ReadResource", bytes, {})).length).toBe(large.length);
    }
  });

  it("ends waiting calls with the reason of the signal, or because it was closed", async () => {
    const { transport, runner } = await served({
      script: (_call, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        }),
    });
    const stop = new AbortController();
    const call = transport.unary("ReadResource", bytes, { signal: stop.signal });
    await expect.poll(() => runner.calls.length).toBe(1);
    stop.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    const other = transport.unary("ReadResource", bytes, {});
    const refused = expect(other).rejects.toMatchObject({ code: "FG_CLOSED" });
    await expect.poll(() => runner.calls.length).toBe(2);
    await transport.close();
    await refused;
    await expect(transport.unary("ReadResource", bytes, {})).rejects.toMatchObject({
      code: "FG_CLOSED",
    });
    await expect.poll(() => runner.alive).toBe(0);
  });

  it("takes Stop and Shutdown for courtesies", async () => {
    const { target } = recording([unreachable(), unreachable()]);
    await using transport = caller().transport({ target });
    expect(await transport.unary("Stop", bytes, {})).toHaveLength(0);
    expect(await transport.unary("Shutdown", bytes, {})).toHaveLength(0);
  });

  it("ends the process of its session in a pool when it is closed", async () => {
    const { transport, runner } = await served({}, { pool: { sharedCallers: true } });
    await transport.unary("ReadResource", bytes, {});
    expect(runner.alive).toBe(1);
    await transport.close();
    await expect.poll(() => runner.alive).toBe(0);
  });

  it("never logs a payload", async () => {
    const lines: string[] = [];
    const log = (data: object, message: string) => void lines.push(JSON.stringify([data, message]));
    const logger = { debug: log, info: log, warn: log, error: log };
    const { transport } = await served({}, { logger }, { logger });
    const secret = Buffer.from("hunter2-secret");
    await transport.unary("Configure", secret, {});
    await transport.unary("ReadResource", secret, {});
    expect(lines.length).toBeGreaterThan(2);
    for (const form of ["hunter2", secret.toString("base64").slice(0, 12)]) {
      expect(lines.join("\n")).not.toContain(form);
    }
  });
});
