import { gzipSync } from "node:zlib";
import { Configure_Response, ReadResource_Response } from "@stackwright/proto/tfplugin5";
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../audit.ts";
import { METHODS, methodByName } from "../envelope/methods.ts";
import {
  type EnvelopeRequest,
  encodeRequest,
  type RequestExtensions,
} from "../envelope/request.ts";
import { type EnvelopeResponse, parseResponse } from "../envelope/response.ts";
import { FgBridgeError } from "../errors.ts";
import { createScriptedRunner, type ScriptedOptions } from "../testing/scripted-runner.ts";
import { FunctionHandler, type HandleOptions } from "./function-handler.ts";
import type { FunctionOptions } from "./function-options.ts";
import { createMemoryJournal } from "./memory-journal.ts";

function setUp(script: ScriptedOptions = {}, options: Partial<FunctionOptions> = {}) {
  const runner = createScriptedRunner(script);
  const audit: AuditEvent[] = [];
  const handler = new FunctionHandler({
    runner,
    onAudit: (event) => audit.push(event),
    ...options,
  });
  const ask = async (
    name: string,
    parts: Partial<EnvelopeRequest> = {},
    how: HandleOptions = {},
  ): Promise<EnvelopeResponse & { readonly status: number }> => {
    const envelope = encodeRequest({
      methodName: methodByName(name)?.path ?? name,
      requestData: Buffer.from("request"),
      sessionId: "s-1",
      configData: new Uint8Array(),
      extensions: { accept: [] },
      ...parts,
    });
    const { status, body } = await handler.handle(envelope, how);
    return { status, ...parseResponse(body) };
  };
  return { runner, handler, ask, audit };
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const waitFor = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });

describe("the function side", () => {
  it("calls every method with the bytes it got, each in a process of its own", async () => {
    const { ask, runner, handler } = setUp();
    const called = METHODS.filter(({ name }) => name !== "Stop" && name !== "Shutdown");
    for (const { name } of called) {
      const bytes = Buffer.from([0, 1, 255, ...Buffer.from(name)]);
      const answer = await ask(name, { requestData: bytes });
      expect(answer).toMatchObject({ status: 200, error: "" });
      if (name !== "Configure") expect(Buffer.compare(answer.responseData, bytes)).toBe(0);
    }
    expect(runner.calls.map(({ method }) => method)).toEqual(called.map(({ name }) => name));
    expect(new Set(runner.calls.map(({ process }) => process)).size).toBe(called.length);
    await handler.close();
    expect(runner.alive).toBe(0);
  });

  it("configures first, in the same process, and only when there is a configuration", async () => {
    const { ask, runner } = setUp();
    await ask("ReadResource", { configData: Buffer.from("cfg") });
    await ask("ReadResource");
    expect(runner.calls.map((c) => [c.process, c.method, text(c.configuration)])).toEqual([
      [1, "Configure", ""],
      [1, "ReadResource", "cfg"],
      [2, "ReadResource", ""],
    ]);
  });

  it("answers Stop and Shutdown without a process", async () => {
    const { ask, runner } = setUp();
    for (const name of ["Stop", "Shutdown"]) {
      expect(await ask(name)).toMatchObject({
        status: 200,
        error: "",
        responseData: new Uint8Array(),
      });
    }
    expect(runner.starts).toBe(0);
  });

  it.each([
    "/tfplugin5.Provider/GetMetadata",
    "/tfplugin6.Provider/GetProviderSchema",
    "/tfplugin5.Provider/readresource",
    "/tfplugin5.Provider/ReadResource ",
    "tfplugin5.Provider/ReadResource",
    "/plugin.GRPCBroker/StartStream",
    "/stackwright.Journal/Outcome",
    "",
  ])("refuses the method %j without touching a process", async (name) => {
    const { ask, runner } = setUp();
    expect(await ask(name)).toMatchObject({
      status: 200,
      error: expect.stringContaining("code = Unimplemented") as string,
      outcome: "not-applied",
    });
    expect(runner.starts).toBe(0);
  });

  it("refuses a malformed envelope with 400 and one that is too large with 413", async () => {
    const { handler, runner, audit } = setUp();
    for (const [body, status] of [
      [Buffer.from("{}"), 400],
      [Buffer.from("\u0000"), 400],
      [Buffer.alloc(7 * 1024 * 1024, 0x20), 413],
    ] as const) {
      const reply = await handler.handle(body);
      expect(reply.status).toBe(status);
      expect(parseResponse(reply.body).error).toContain("rpc error: code = ");
    }
    expect(runner.starts).toBe(0);
    expect(audit.map(({ kind }) => kind)).toEqual(Array(3).fill("envelope-refused"));
  });

  it("refuses a payload that grows without measure", async () => {
    const { handler } = setUp();
    const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024)).toString("base64");
    const reply = await handler.handle(
      Buffer.from(
        JSON.stringify({
          method_name: "x",
          request_data: bomb,
          context: { session_id: "", config_data: "", request_encoding: "gzip" },
        }),
      ),
    );
    expect(reply.status).toBe(413);
  });

  it("hands the diagnostics of a refused configuration on, and does not call the method", async () => {
    const refusal = Configure_Response.encode(
      Configure_Response.fromPartial({ diagnostics: [{ severity: 1, summary: "bad token" }] }),
    ).finish();
    const { ask, runner } = setUp({
      script: ({ method }) => (method === "Configure" ? refusal : undefined),
    });
    const answer = await ask("ReadResource", { configData: Buffer.from("cfg") });
    expect(answer.error).toBe("");
    const { diagnostics } = ReadResource_Response.decode(answer.responseData);
    expect(diagnostics).toMatchObject([{ summary: "bad token" }]);
    expect(runner.calls.map(({ method }) => method)).toEqual(["Configure"]);
  });

  it("gives the status of a provider back, without what the configuration holds", async () => {
    const { ask, audit } = setUp({
      script: ({ method }) => {
        if (method === "Configure") return undefined;
        throw new FgBridgeError(
          "FG_PROVIDER_DIED",
          "panic: token hunter2-secret rejected\u001b[2J",
          {
            status: "UNAVAILABLE",
          },
        );
      },
    });
    const answer = await ask("PlanResourceChange", {
      configData: Buffer.concat([
        Buffer.from([0xae, 0x29]),
        Buffer.from("hunter2-secret"),
        Buffer.of(0),
      ]),
    });
    expect(answer.error).toBe("rpc error: code = Unavailable desc = panic: token *** rejected[2J");
    expect(answer.outcome).toBe("unknown");
    expect(JSON.stringify(audit)).not.toContain("hunter2");
  });

  it("says not-applied when the provider does not start", async () => {
    const { ask } = setUp({
      onStart: () => {
        throw new FgBridgeError("FG_PROVIDER_START_FAILED", "no such file");
      },
    });
    expect(await ask("ApplyResourceChange")).toMatchObject({ status: 200, outcome: "not-applied" });
  });

  it("ends a call before the caller's time is over, and kills the process", async () => {
    const { ask, runner, handler } = setUp(
      { script: (_call, signal) => waitFor(signal) },
      { timeoutMs: 60, marginMs: 10 },
    );
    const answer = await ask("ApplyResourceChange");
    expect(answer.error).toContain("code = DeadlineExceeded");
    expect(answer.outcome).toBe("unknown");
    await handler.close();
    expect(runner).toMatchObject({ alive: 0, kills: 1 });
  });

  it("keeps to the shorter of its own, the caller's and the platform's time", async () => {
    const { ask } = setUp({ script: (_call, signal) => waitFor(signal) }, { marginMs: 0 });
    const asked = await ask("ReadResource", { extensions: { deadlineMs: 30 } });
    expect(asked.error).toContain("30 ms");
    const allowed = await ask("ReadResource", {}, { platformTimeoutMs: 20 });
    expect(allowed.error).toContain("20 ms");
  });

  it("stops the provider when the caller goes", async () => {
    const { ask, runner, handler } = setUp({ script: (_call, signal) => waitFor(signal) });
    const gone = new AbortController();
    const answer = ask("ReadResource", {}, { signal: gone.signal });
    await expect.poll(() => runner.calls.length).toBe(1);
    gone.abort(new FgBridgeError("FG_CONNECTION_LOST", "the caller has gone"));
    expect((await answer).error).toContain("Unavailable");
    await handler.close();
    expect(runner.alive).toBe(0);
  });

  it("limits processes, lets requests wait, and refuses what is too much", async () => {
    const release: (() => void)[] = [];
    const { ask, runner } = setUp(
      {
        script: () =>
          new Promise<undefined>((resolve) => {
            release.push(() => resolve(undefined));
          }),
      },
      { maxProcesses: 2, maxWaiting: 1 },
    );
    const first = [ask("ReadResource"), ask("ReadResource"), ask("ReadResource")];
    await expect.poll(() => release.length).toBe(2);
    expect(await ask("ReadResource")).toMatchObject({ status: 429, outcome: "not-applied" });
    expect(runner.starts).toBe(2);
    release.splice(0).forEach((go) => go());
    await expect.poll(() => release.length).toBe(1);
    release[0]?.();
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("refuses an answer that is too large with its size, unless it can be made small", async () => {
    const large = Buffer.alloc(4_800_000, "a");
    const { ask } = setUp({ script: () => large });
    expect((await ask("ReadResource")).error).toMatch(/ResourceExhausted.*64\d{5} bytes, 6291456/);
    const extensions: RequestExtensions = { accept: ["gzip"] };
    const answer = await ask("ReadResource", { extensions });
    expect(Buffer.compare(answer.responseData, large)).toBe(0);
    const fits = Buffer.alloc(4_700_000, "a");
    const { ask: askLess } = setUp({ script: () => fits });
    expect((await askLess("ReadResource")).responseData.length).toBe(fits.length);
  });

  it("gives the schema once, and its digest to callers that have it", async () => {
    const { ask, runner } = setUp({ script: () => Buffer.from("schema") });
    const plain = await ask("GetSchema");
    expect(plain).not.toHaveProperty("schemaDigest");
    const first = await ask("GetSchema", { extensions: { accept: ["schema-digest"] } });
    expect(text(first.responseData)).toBe("schema");
    const digest = first.schemaDigest ?? "";
    const again = await ask("GetSchema", {
      extensions: { accept: ["schema-digest"], schemaDigest: digest },
    });
    expect(again).toMatchObject({ responseData: new Uint8Array(), schemaDigest: digest });
    expect(runner.starts).toBe(2);
    const other = await ask("GetSchema", {
      extensions: { accept: ["schema-digest"], schemaDigest: "sha256:other" },
    });
    expect(text(other.responseData)).toBe("schema");
  });
});

describe("the function side with a journal", () => {
  const extensions: RequestExtensions = { callId: "op-1", epoch: 1n };

  it("answers although the journal fails to store the result", async () => {
    const journal = createMemoryJournal();
    const lines: string[] = [];
    const log = (_data: object, message: string) => void lines.push(message);
    const { ask } = setUp(
      {},
      {
        journal: { ...journal, finish: () => Promise.reject(new Error("disk full")) },
        logger: { debug: log, info: log, warn: log, error: log },
      },
    );
    const answer = await ask("ApplyResourceChange", { extensions });
    expect(text(answer.responseData)).toBe("request");
    expect(lines).toContain("the journal failed");
  });

  it("does not run what it cannot record", async () => {
    const journal = createMemoryJournal();
    const { ask, runner } = setUp(
      {},
      { journal: { ...journal, begin: () => Promise.reject(new Error("disk full")) } },
    );
    const answer = await ask("ApplyResourceChange", { extensions });
    expect(answer).toMatchObject({
      error: expect.stringContaining("disk full") as string,
      outcome: "unknown",
    });
    expect(runner.starts).toBe(0);
  });

  it("gives deliveries that come meanwhile the answer of the first", async () => {
    const { ask, runner } = setUp(
      { script: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 20)) },
      { journal: createMemoryJournal() },
    );
    const answers = await Promise.all(
      [1, 2, 3].map(() => ask("ApplyResourceChange", { extensions })),
    );
    expect(answers.map(({ responseData }) => text(responseData))).toEqual(Array(3).fill("request"));
    expect(runner.starts).toBe(1);
  });

  it("says that an operation runs in another instance", async () => {
    const journal = createMemoryJournal();
    const { ask, runner } = setUp(
      {},
      { journal: { ...journal, begin: async () => ({ kind: "running" }) } },
    );
    const answer = await ask("ApplyResourceChange", { extensions });
    expect(answer).toMatchObject({
      outcome: "running",
      error: expect.stringContaining("Aborted") as string,
    });
    expect(runner.starts).toBe(0);
  });

  it("finishes an apply whose caller has gone, and keeps the answer", async () => {
    const gate = Promise.withResolvers<undefined>();
    const { ask, runner } = setUp(
      { script: () => gate.promise },
      { journal: createMemoryJournal() },
    );
    const gone = new AbortController();
    const first = ask("ApplyResourceChange", { extensions }, { signal: gone.signal });
    await expect.poll(() => runner.calls.length).toBe(1);
    gone.abort(new FgBridgeError("FG_CONNECTION_LOST", "the caller has gone"));
    gate.resolve(undefined);
    await first;
    const again = await ask("ApplyResourceChange", { extensions });
    expect([text(again.responseData), again.outcome]).toEqual(["request", "done"]);
    expect(runner.starts).toBe(1);
  });

  it("refuses another request under the same id, with an audit entry", async () => {
    const { ask, audit } = setUp({}, { journal: createMemoryJournal() });
    await ask("ApplyResourceChange", { extensions });
    const other = await ask("ApplyResourceChange", {
      extensions,
      requestData: Buffer.from("other"),
    });
    // The earlier request was applied, so the operation was.
    expect(other).toMatchObject({ outcome: "unknown" });
    expect(other.error).toContain("FailedPrecondition");
    expect(audit).toMatchObject([{ kind: "operation-refused", subject: "op-1" }]);
  });

  it("keeps nothing for an apply without an id: each makes its own object", async () => {
    const { ask, runner } = setUp({}, { journal: createMemoryJournal() });
    for (let i = 0; i < 3; i++) await ask("ApplyResourceChange");
    expect(runner.starts).toBe(3);
  });
});

describe("the pool of the function side", () => {
  const pool = { sharedCallers: true, idleMs: 60_000 };
  const cfg = Buffer.from("cfg");

  it("is refused to functions that do not know their callers", () => {
    expect(() => setUp({}, { pool: {} })).toThrow(
      expect.objectContaining({ code: "FG_OPTIONS_INVALID" }),
    );
  });

  it("configures a session's process once and uses it for one request at a time", async () => {
    const { ask, runner, handler } = setUp(
      { script: () => new Promise((resolve) => setTimeout(() => resolve(undefined), 5)) },
      { pool },
    );
    for (let i = 0; i < 4; i++) await ask("ReadResource", { configData: cfg });
    expect(runner.starts).toBe(1);
    expect(runner.calls.filter(({ method }) => method === "Configure")).toHaveLength(1);
    await Promise.all([1, 2, 3].map(() => ask("ReadResource", { configData: cfg })));
    // Three at a time need three.
    expect(runner.starts).toBe(3);
    await handler.close();
    expect(runner.alive).toBe(0);
  });

  it("never mixes callers, sessions or configurations", async () => {
    const { ask, runner } = setUp({}, { pool });
    await ask("ReadResource", { configData: cfg }, { caller: "a" });
    await ask("ReadResource", { configData: cfg }, { caller: "b" });
    await ask("ReadResource", { configData: cfg, sessionId: "s-2" }, { caller: "a" });
    await ask("ReadResource", { configData: Buffer.from("other") }, { caller: "a" });
    await ask("ReadResource", {}, { caller: "a" });
    expect(runner.starts).toBe(5);
    for (let i = 0; i < 2; i++) await ask("ReadResource", { sessionId: "" }, { caller: "a" });
    expect(runner.starts).toBe(7);
  });

  it("does not keep a process that failed, one that configured itself, or one of a session that ended", async () => {
    let fail = true;
    const { ask, runner } = setUp(
      {
        script: ({ method }) => {
          if (method === "ReadResource" && fail) throw new FgBridgeError("FG_FUNCTION_ERROR", "no");
          return undefined;
        },
      },
      { pool },
    );
    await ask("ReadResource", { configData: cfg });
    fail = false;
    await ask("ReadResource", { configData: cfg });
    expect(runner.starts).toBe(2);
    await ask("Configure", { requestData: cfg });
    await ask("Shutdown");
    await expect.poll(() => runner.alive).toBe(0);
    await ask("ReadResource", { configData: cfg });
    expect(runner.starts).toBe(4);
  });

  it("releases what is no longer requested", async () => {
    const { ask, runner } = setUp({}, { pool: { ...pool, idleMs: 10 } });
    await ask("ReadResource", { configData: cfg });
    expect(runner.alive).toBe(1);
    await expect.poll(() => runner.alive).toBe(0);
  });
});
