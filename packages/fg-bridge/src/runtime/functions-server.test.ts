import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../audit.ts";
import type { CallerOptions } from "../caller/caller-options.ts";
import { FunctionCaller } from "../caller/function-caller.ts";
import { FunctionHandler } from "../function/function-handler.ts";
import { createHttpResults } from "../target/async-results.ts";
import type { FunctionGraphEndpoint } from "../target/functiongraph-target.ts";
import { FunctionTargetTable } from "../target/target-table.ts";
import { createScriptedRunner, type ScriptedOptions } from "../testing/scripted-runner.ts";
import type { InstanceRequest, RuntimeFunction } from "./function-definition.ts";
import { type FunctionsServerOptions, serveFunctions } from "./functions-server.ts";

const project = "a61dfe3154de42829367056598d5040f";
const urn = `urn:fss:cn-north-7:${project}:function:default:test:latest`;
const account = { accessKey: "AK", secretKey: "secret", projects: [project] };
const bytes = Buffer.from([0, 255, ...Buffer.from("bytes")]);

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** A function that is the function side of the bridge with a scripted provider. */
function bridged(script: ScriptedOptions = {}) {
  const runner = createScriptedRunner(script);
  const handler = cleanup.use(new FunctionHandler({ runner }));
  const handle = async ({ body }: InstanceRequest) => ({
    ...(await handler.handle(body)),
    headers: {},
  });
  return { runner, handle };
}

async function setUp(
  definition: Partial<RuntimeFunction>,
  options: Partial<FunctionsServerOptions> = {},
  endpoint: Partial<FunctionGraphEndpoint> = {},
  caller: CallerOptions = {},
) {
  const audit: AuditEvent[] = [];
  const server = cleanup.use(
    await serveFunctions({
      functions: [{ urn, code: bridged(), ...definition }],
      accounts: [account],
      onAudit: (event) => audit.push(event),
      ...options,
    }),
  );
  const table = cleanup.use(
    new FunctionTargetTable({
      regions: {
        "cn-north-7": {
          endpoint: server.url,
          credentials: account,
          asyncResults: server.results,
          pollMs: [5, 20],
          ...(definition.kind === undefined ? {} : { functionKind: definition.kind }),
          ...endpoint,
        },
      },
      guard: { allow: ["127.0.0.0/8"] },
    }),
  );
  const target = table.resolve(urn, { projects: [project] });
  const make = new FunctionCaller({ retry: { attempts: 1 }, ...caller });
  return { server, table, target, transport: cleanup.use(make.transport({ target })), audit };
}

describe("the local function runtime", () => {
  it.each(["http", "event"] as const)("runs %s functions behind the invoke API", async (kind) => {
    const { handle, runner } = bridged();
    const { transport } = await setUp({ code: { handle }, kind });
    await transport.unary("Configure", Buffer.from("cfg"), {});
    const answer = await transport.unary("ReadResource", bytes, {});
    expect(Buffer.compare(answer, bytes)).toBe(0);
    expect(runner.calls.map(({ method }) => method)).toEqual([
      "Configure",
      "Configure",
      "ReadResource",
    ]);
  });

  it("identifies itself as the local runtime", async () => {
    const { server } = await setUp({});
    const response = await fetch(server.url);
    expect(response.headers.get("server")).toContain("local function runtime");
    expect(await response.text()).toContain("Not the service itself");
  });

  it("runs folders with a bootstrap, and commands, in processes of their own", async () => {
    const folder = await mkdtemp(join(tmpdir(), "function-"));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const program = `
      const http = require("node:http");
      const seen = Object.keys(process.env).sort().join(",");
      http.createServer((req, res) => {
        let size = 0;
        req.on("data", (d) => { size += d.length; });
        req.on("end", () => res.end(JSON.stringify({ response_data: "",
          error: [req.url, size > 0, seen, process.pid, req.headers["x-cff-func-name"]].join(" ") })));
      }).listen(Number(process.env.PORT), "127.0.0.1");`;
    await writeFile(join(folder, "index.cjs"), program);
    await writeFile(join(folder, "bootstrap"), `#!/bin/sh\nexec '${process.execPath}' index.cjs\n`);
    await chmod(join(folder, "bootstrap"), 0o755);
    process.env.SECRET_OF_THE_RUNTIME = "x";
    cleanup.defer(() => void delete process.env.SECRET_OF_THE_RUNTIME);
    for (const code of [
      { directory: folder },
      { command: [process.execPath, "index.cjs"] as [string, string], cwd: folder },
    ]) {
      const { server, transport } = await setUp({ code, env: { MINE: "1" } });
      const texts: string[] = [];
      for (let i = 0; i < 2; i++) {
        const failure = await transport.unary("ReadResource", bytes, {}).catch((e: Error) => e);
        texts.push((failure as Error).message);
      }
      const [, path, sized, names = "", pid, name] = texts[0]?.split(" ") ?? [];
      expect([path, sized, name]).toEqual(["/provider", "true", "test"]);
      expect(names.split(",")).toEqual(expect.arrayContaining(["MINE", "PATH", "PORT"]));
      expect(names).not.toContain("SECRET");
      expect(texts[1]).toContain(` ${pid} `);
      expect(server.instances(urn)).toEqual({ starts: 1, alive: 1 });
    }
  });

  it("starts instances when there is no free one, up to the limit", async () => {
    const gates: (() => void)[] = [];
    const handle = () =>
      new Promise<{ status: number; headers: {}; body: Uint8Array }>((resolve) => {
        gates.push(() =>
          resolve({ status: 200, headers: {}, body: Buffer.from('{"response_data":""}') }),
        );
      });
    const { server, transport } = await setUp({
      code: { handle },
      concurrency: 2,
      maxInstances: 2,
      coldStartMs: 5,
    });
    const call = () => transport.unary("ReadResource", bytes, {});
    const calls = [call(), call(), call(), call()];
    await expect.poll(() => gates.length).toBe(4);
    expect(server.instances(urn)).toEqual({ starts: 2, alive: 2 });
    await expect(call()).rejects.toMatchObject({
      code: "FG_THROTTLED",
      outcome: "not-applied",
      httpStatus: 429,
    });
    for (const open of gates) open();
    await Promise.all(calls);
  });

  it("ends an instance that is idle, and one whose request takes too long", async () => {
    const hang = () => new Promise<never>(() => undefined);
    const folder = await mkdtemp(join(tmpdir(), "function-"));
    cleanup.defer(() => rm(folder, { recursive: true, force: true }));
    const { server, transport } = await setUp({ code: bridged(), idleMs: 10 });
    await transport.unary("GetSchema", bytes, {});
    await expect.poll(() => server.instances(urn).alive).toBe(0);
    await server.deploy({
      urn,
      timeoutMs: 50,
      code: {
        handle: (_request, { signal }) =>
          Promise.race([
            hang(),
            new Promise<never>((_resolve, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason as Error));
            }),
          ]),
      },
    });
    await expect(transport.unary("ApplyResourceChange", bytes, {})).rejects.toMatchObject({
      code: "FG_FUNCTION_STATUS",
      outcome: "unknown",
      message: expect.stringContaining("FSS.0408") as string,
    });
    expect(server.instances(urn).alive).toBe(0);
  });

  it("answers for functions that do not start or are not there", async () => {
    const { server, transport, table } = await setUp({
      code: { command: ["/does/not/exist"] },
    });
    await expect(transport.unary("ApplyResourceChange", bytes, {})).rejects.toMatchObject({
      code: "FG_THROTTLED",
      outcome: "not-applied",
      message: expect.stringContaining("FSS.0503") as string,
    });
    expect(server.instances(urn).alive).toBe(0);
    const target = table.resolve(urn.replace("test", "other"), { projects: [project] });
    await using other = new FunctionCaller().transport({ target });
    await expect(other.unary("GetSchema", bytes, {})).rejects.toMatchObject({
      code: "FG_FUNCTION_NOT_FOUND",
      outcome: "not-applied",
    });
  });

  it("keeps what callers may send within the limits of the platform", async () => {
    const { target } = await setUp({});
    const timeouts = { connectMs: 1000, firstByteMs: 5000, totalMs: 5000 };
    for (const size of [6 * 1024 * 1024, 6 * 1024 * 1024 + 5000]) {
      await expect(
        target.invoke(Buffer.alloc(size), { timeouts, fresh: true }),
      ).rejects.toMatchObject({ code: "FG_REQUEST_TOO_LARGE", outcome: "not-applied" });
    }
    await expect(
      target.invokeAsync?.(Buffer.alloc(300 * 1024), { timeouts, fresh: true }),
    ).rejects.toMatchObject({ code: "FG_REQUEST_TOO_LARGE" });
  });

  it("refuses strangers and functions of others, and keeps a record", async () => {
    const { server, audit } = await setUp(
      {},
      { accounts: [account, { accessKey: "BK", secretKey: "other", projects: ["otherproject"] }] },
    );
    const call = async (accessKey: string, secretKey: string) => {
      const table = cleanup.use(
        new FunctionTargetTable({
          regions: {
            "cn-north-7": { endpoint: server.url, credentials: { accessKey, secretKey } },
          },
          guard: { allow: ["127.0.0.0/8"] },
        }),
      );
      const target = table.resolve(urn, { projects: [project] });
      await using transport = new FunctionCaller({ retry: { attempts: 1 } }).transport({ target });
      return await transport.unary("GetSchema", bytes, {}).then(
        () => "accepted",
        (error: { code: string }) => error.code,
      );
    };
    expect(await call("AK", "secret")).toBe("accepted");
    expect(await call("AK", "wrong")).toBe("FG_UNAUTHORIZED");
    expect(await call("XX", "secret")).toBe("FG_UNAUTHORIZED");
    expect(await call("BK", "other")).toBe("FG_FORBIDDEN");
    expect(audit.map(({ kind, caller }) => [kind, caller])).toEqual([
      ["caller-refused", undefined],
      ["caller-refused", undefined],
      ["target-refused", "BK"],
    ]);
    const path = `/v2/otherproject/fgs/functions/${encodeURIComponent(urn)}/invocations`;
    expect((await fetch(`${server.url}${path}`, { method: "POST" })).status).toBe(401);
  });

  it("does not open itself to others without accounts", async () => {
    await expect(serveFunctions({ functions: [], host: "0.0.0.0" })).rejects.toMatchObject({
      code: "FG_OPTIONS_INVALID",
    });
  });
});

describe("the second version of the contract", () => {
  const v2: CallerOptions = { contract: "v2" };

  it("runs plan and apply asynchronously and finds their results", async () => {
    const { handle } = bridged();
    const { transport, server } = await setUp({ code: { handle } }, {}, {}, v2);
    for (const method of ["PlanResourceChange", "ApplyResourceChange", "ReadResource"]) {
      expect(Buffer.compare(await transport.unary(method, bytes, {}), bytes)).toBe(0);
    }
    const table = `/v2/${project}/fgs/functions/${encodeURIComponent(urn)}/async-invocations`;
    expect((await fetch(`${server.url}${table}`)).status).toBe(401);
  });

  it("finds results over HTTP too, with or without kept states", async () => {
    for (const statusPersistence of [true, false]) {
      const first = await setUp({ code: bridged() });
      const asyncResults = createHttpResults({
        client: first.table.client,
        baseUrl: `${first.server.url}/results`,
        credentials: account,
      });
      const table = cleanup.use(
        new FunctionTargetTable({
          regions: {
            "cn-north-7": {
              endpoint: first.server.url,
              credentials: account,
              asyncResults,
              statusPersistence,
              pollMs: [5, 20],
            },
          },
          guard: { allow: ["127.0.0.0/8"] },
        }),
      );
      const target = table.resolve(urn, { projects: [project] });
      await using transport = new FunctionCaller(v2).transport({ target });
      const answer = await transport.unary("ApplyResourceChange", bytes, {});
      expect(Buffer.compare(answer, bytes)).toBe(0);
    }
  });

  it("runs longer than a synchronous call may, up to its own limit", async () => {
    const slow = {
      script: () =>
        new Promise<undefined>((resolve) => {
          setTimeout(() => resolve(undefined), 150);
        }),
    };
    const { transport } = await setUp({ code: bridged(slow), timeoutMs: 20 }, {}, {}, v2);
    await transport.unary("ApplyResourceChange", bytes, {});
    await expect(transport.unary("ReadResource", bytes, {})).rejects.toMatchObject({
      code: "FG_FUNCTION_STATUS",
    });
  });

  it("says what came of an invocation that failed, and asks the platform to stop one without a waiting caller", async () => {
    const seen: string[] = [];
    const { transport } = await setUp(
      {
        code: {
          handle: (_request, { signal }) =>
            new Promise((_resolve, reject) => {
              seen.push("began");
              signal.addEventListener("abort", () => {
                seen.push("stopped");
                reject(signal.reason as Error);
              });
            }),
        },
      },
      {},
      {},
      { ...v2, asyncTimeoutMs: 100 },
    );
    await expect(transport.unary("ApplyResourceChange", bytes, {})).rejects.toMatchObject({
      code: "FG_TIMEOUT",
      outcome: "unknown",
    });
    await expect.poll(() => seen).toEqual(["began", "stopped"]);
    const broken = await setUp(
      {
        code: {
          handle: async () => {
            throw Object.assign(new Error("no"), {});
          },
        },
      },
      {},
      {},
      v2,
    );
    await expect(broken.transport.unary("ApplyResourceChange", bytes, {})).rejects.toMatchObject({
      code: "FG_ASYNC_FAILED",
      outcome: "unknown",
    });
  });

  it("refuses a request that is too large before it is sent", async () => {
    const { transport } = await setUp({}, {}, {}, v2);
    await expect(
      transport.unary("PlanResourceChange", Buffer.alloc(200_000), {}),
    ).rejects.toMatchObject({ code: "FG_REQUEST_TOO_LARGE", outcome: "not-applied" });
    await transport.unary("ReadResource", Buffer.alloc(200_000), {});
  });
});
