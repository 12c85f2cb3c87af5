import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { METHODS } from "../envelope/methods.ts";
import { FgBridgeError } from "../errors.ts";
import { createScriptedRunner, type ScriptedOptions } from "../testing/scripted-runner.ts";
import { type FunctionServerOptions, serveFunction } from "./function-server.ts";
import { createMemoryJournal } from "./memory-journal.ts";

/*
 * A caller that knows the contract alone. It may refuse members that it does not know, so there must be none, even from a
 * function with all extensions switched on.
 *
 * Source: seed 003, rule 3: { "response_data": String, "error": String }.
 */

let cleanup = new AsyncDisposableStack();
beforeEach(() => {
  cleanup = new AsyncDisposableStack();
});
afterEach(() => cleanup.disposeAsync());

async function setUp(script: ScriptedOptions = {}, options: Partial<FunctionServerOptions> = {}) {
  const server = cleanup.use(
    await serveFunction({
      runner: createScriptedRunner(script),
      port: 0,
      journal: createMemoryJournal(),
      pool: { sharedCallers: true },
      ...options,
    }),
  );
  const post = async (body: string, path = "/provider") => {
    const response = await fetch(`${server.url}${path}`, { method: "POST", body });
    const text = await response.text();
    return { status: response.status, members: Object.entries(JSON.parse(text) as object) };
  };
  const ask = async (methodName: string, context: object = {}) =>
    post(
      JSON.stringify({
        method_name: methodName,
        request_data: Buffer.from("request").toString("base64"),
        context: { session_id: "s", config_data: "", ...context },
      }),
    );
  return { ask, post };
}

const apply = "/tfplugin5.Provider/ApplyResourceChange";
const failure = [
  ["response_data", ""],
  ["error", expect.stringMatching(/^rpc error: code = \w+ desc = ./) as string],
];

describe("a request that negotiates nothing", () => {
  it.each(METHODS)("is answered with the members of the contract alone: $name", async (method) => {
    const { ask } = await setUp({ script: () => Buffer.from("response") });
    const { status, members } = await ask(method.path);
    expect(status).toBe(200);
    const ends = method.name === "Stop" || method.name === "Shutdown";
    const data = ends ? "" : Buffer.from("response").toString("base64");
    expect(members).toEqual([
      ["response_data", data],
      ["error", ""],
    ]);
  });

  it("is answered so with a configuration, and where members are of no known extension", async () => {
    const { ask } = await setUp({
      script: ({ method }) => (method === "Configure" ? new Uint8Array() : Buffer.from("x")),
    });
    const context = {
      config_data: Buffer.from("cfg").toString("base64"),
      later: [1],
      accept: null,
    };
    const { members } = await ask(apply, context);
    expect(members.map(([name]) => name)).toEqual(["response_data", "error"]);
  });

  it.each([
    ["the provider fails", () => new FgBridgeError("FG_FUNCTION_ERROR", "no")],
    ["the provider does not start", () => new FgBridgeError("FG_PROVIDER_START_FAILED", "no")],
    ["the provider ends", () => new FgBridgeError("FG_PROVIDER_DIED", "no")],
  ] as const)("is answered so when %s", async (_name, error) => {
    const { ask } = await setUp({
      script: () => {
        throw error();
      },
    });
    expect(await ask(apply)).toEqual({ status: 200, members: failure });
  });

  it("is answered so when the method or the path is unknown", async () => {
    const { ask, post } = await setUp();
    expect(await ask("/tfplugin5.Provider/GetMetadata")).toEqual({ status: 200, members: failure });
    expect(await post("{}", "/other")).toEqual({ status: 404, members: failure });
  });

  it("is answered so when it is malformed, too large, unknown, or one too many", async () => {
    const limits = { maxBytes: 1000, maxPayloadBytes: 1000 };
    const { post } = await setUp({}, { limits });
    expect(await post("{}")).toEqual({ status: 400, members: failure });
    expect(await post(" ".repeat(1001))).toEqual({ status: 413, members: failure });
    expect(await post(" ".repeat(100_000))).toEqual({ status: 413, members: failure });
    const stranger = await setUp(
      {},
      {
        authenticate: async () => {
          throw new FgBridgeError("FG_UNAUTHORIZED", "who?");
        },
      },
    );
    expect(await stranger.ask(apply)).toEqual({ status: 401, members: failure });
    const waiting = Promise.withResolvers<undefined>();
    const full = await setUp({ script: () => waiting.promise }, { maxProcesses: 1, maxWaiting: 0 });
    const answers = [full.ask(apply), full.ask(apply)];
    expect(await Promise.race(answers)).toEqual({ status: 429, members: failure });
    waiting.resolve(undefined);
    await Promise.all(answers);
  });

  it("is answered so when the response is too large", async () => {
    const { ask } = await setUp(
      { script: () => Buffer.alloc(5000, "x") },
      { maxResponseBytes: 1000 },
    );
    expect(await ask(apply)).toEqual({ status: 200, members: failure });
  });
});

describe("a request that negotiates", () => {
  it.each([
    { accept: [] },
    { call_id: "op-1" },
    { epoch: "1" },
    { attempt: 0 },
    { schema_digest: "x" },
    { deadline_ms: 1000 },
  ])("gets to know what the function can do: %j", async (context) => {
    const { ask } = await setUp();
    expect(Object.fromEntries((await ask(apply, context)).members)).toMatchObject({
      adapter: {
        name: "stackwright",
        features: expect.arrayContaining(["gzip", "pool"]) as string[],
      },
    });
  });

  it("gets to know so as well when its envelope is refused", async () => {
    const { post } = await setUp();
    const context = { session_id: 7, accept: ["gzip"] };
    const { status, members } = await post(
      JSON.stringify({ method_name: apply, request_data: "", context }),
    );
    expect([status, Object.fromEntries(members)]).toMatchObject([
      400,
      { outcome: "not-applied", adapter: {} },
    ]);
  });
});
