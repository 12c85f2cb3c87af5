import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { METHODS } from "../envelope/methods.ts";
import { FgBridgeError } from "../errors.ts";
import { openDirectoryJournal } from "../function/directory-journal.ts";
import { type FunctionServer, serveFunction } from "../function/function-server.ts";
import { FunctionTargetTable } from "../target/target-table.ts";
import { FAULTS, type Fault, startFaultProxy } from "../testing/fault-proxy.ts";
import { createScriptedRunner } from "../testing/scripted-runner.ts";
import type { CallerOptions } from "./caller-options.ts";
import { FunctionCaller } from "./function-caller.ts";

const project = "a61dfe3154de42829367056598d5040f";
const urn = `urn:fss:cn-north-7:${project}:function:default:test:latest`;

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** What the provider itself knows: one object per create that it was asked for. */
interface Made {
  readonly id: string;
  readonly request: string;
}

/** A provider that gives every object a random id, behind a function, behind a proxy. */
async function setUp(
  options: { readonly journal?: boolean; readonly caller?: CallerOptions } = {},
  stack: AsyncDisposableStack = cleanup,
) {
  const objects: Made[] = [];
  const directory = await mkdtemp(join(tmpdir(), "faults-"));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const deploy = async (withJournal: boolean): Promise<FunctionServer> => {
    const runner = createScriptedRunner({
      script: ({ method, request }) => {
        if (method !== "ApplyResourceChange") return undefined;
        const id = randomUUID();
        objects.push({ id, request: Buffer.from(request).toString() });
        return Buffer.from(id);
      },
    });
    const journal = withJournal ? { journal: await openDirectoryJournal({ directory }) } : {};
    return stack.use(await serveFunction({ runner, port: 0, ...journal }));
  };
  const server = await deploy(options.journal ?? true);
  const proxy = stack.use(await startFaultProxy(server.url));
  const table = stack.use(
    new FunctionTargetTable({
      functions: { [urn]: { url: proxy.url } },
      guard: { allow: ["127.0.0.0/8"] },
    }),
  );
  const caller = new FunctionCaller({
    timeouts: { totalMs: 2000 },
    retry: { baseMs: 1, budget: 10_000 },
    resolveTimeoutMs: 1000,
    breaker: { consecutiveFailures: 10_000, minimumCalls: 10_000 },
    ...options.caller,
  });
  const transport = stack.use(
    caller.transport({ target: table.resolve(urn, { projects: [project] }) }),
  );
  return { transport, proxy, objects, server, deploy };
}

type Ended =
  | { readonly kind: "applied"; readonly id: string }
  | { readonly kind: "not-applied" | "unknown" };

async function apply(
  transport: Awaited<ReturnType<typeof setUp>>["transport"],
  request: string,
  operationId?: string,
): Promise<Ended> {
  try {
    const call = operationId === undefined ? {} : { operation: { operationId, epoch: 1n } };
    const id = await transport.unary("ApplyResourceChange", Buffer.from(request), call);
    return { kind: "applied", id: Buffer.from(id).toString() };
  } catch (error) {
    if (!(error instanceof FgBridgeError)) throw error;
    return { kind: error.outcome };
  }
}

/** What is said of an operation must agree with what the provider knows. */
function agree(ended: Ended, made: readonly Made[]): void {
  expect(made.length).toBeLessThanOrEqual(1);
  if (ended.kind === "applied") expect(made.map(({ id }) => id)).toEqual([ended.id]);
  if (ended.kind === "not-applied") expect(made).toEqual([]);
}

describe("faults on the way", () => {
  it.each(FAULTS.filter((fault) => fault !== "pass"))(
    "never change what a reading method answers: %s",
    async (fault) => {
      const { transport, proxy } = await setUp();
      for (const { name } of METHODS.filter(
        (m) => m.repeatable && m.name !== "Stop" && m.name !== "Shutdown",
      )) {
        proxy.plan.push(fault);
        const bytes = Buffer.from(`${name} ${fault}`);
        const permanent =
          fault === "page" || fault === "truncated" || fault === "504" || fault === "504-after";
        const answer = await transport.unary(name, bytes, {}).then(
          (got) =>
            name === "Configure" ? "same" : Buffer.from(got).equals(bytes) ? "same" : "other",
          (error: FgBridgeError) => error.code,
        );
        if (!permanent) expect([name, answer]).toEqual([name, "same"]);
        else expect(["FG_RESPONSE_INVALID", "FG_TIMEOUT"]).toContain(answer);
      }
      await proxy.settled();
    },
  );

  it.each(FAULTS)(
    "never apply twice, and are resolved by the function's journal: %s",
    async (fault) => {
      const { transport, proxy, objects } = await setUp();
      // Introduces the function, which says that it has a journal.
      await transport.unary("GetSchema", new Uint8Array(), {});
      proxy.plan.push(fault);
      const ended = await apply(transport, "one", "op-1");
      await proxy.settled();
      agree(ended, objects);
      expect(ended.kind).toBe("applied");
    },
  );

  it.each(FAULTS)(
    "never apply twice without a journal, and say when it is open: %s",
    async (fault) => {
      const { transport, proxy, objects } = await setUp({ journal: false });
      await transport.unary("GetSchema", new Uint8Array(), {});
      proxy.plan.push(fault);
      const ended = await apply(transport, "one", "op-1");
      await proxy.settled();
      // What is delivered twice by the network is not for a caller to prevent; that is what the journal is for.
      if (fault === "twice" || fault === "again") return;
      agree(ended, objects);
      const sure: readonly Fault[] = ["pass", "slow", "429", "throttled"];
      expect(ended.kind).toBe(sure.includes(fault) ? "applied" : "unknown");
    },
  );

  it("keep three equal creates apart", async () => {
    const { transport, proxy, objects } = await setUp();
    await transport.unary("GetSchema", new Uint8Array(), {});
    proxy.plan.push("twice", "cut-answer", "again");
    const ended = await Promise.all(
      ["a", "b", "c"].map((id) => apply(transport, "equal bytes", id)),
    );
    await proxy.settled();
    expect(new Set(objects.map(({ id }) => id)).size).toBe(3);
    expect(ended.map((end) => (end.kind === "applied" ? end.id : end.kind)).toSorted()).toEqual(
      objects.map(({ id }) => id).toSorted(),
    );
  });

  it("keep three equal creates apart that have no id, each of them its own object", async () => {
    const { transport, objects } = await setUp();
    const ended = await Promise.all([1, 2, 3].map(() => apply(transport, "equal bytes")));
    expect(ended.map(({ kind }) => kind)).toEqual(["applied", "applied", "applied"]);
    expect(objects).toHaveLength(3);
  });

  it(
    "agree with the provider's own records in any order",
    async ({ annotate }) => {
      const runs = Math.round(30 * Number(process.env.STACKWRIGHT_RUNS ?? 1));
      await annotate(`${runs} histories of faults`, "count");
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom(...FAULTS), { minLength: 1, maxLength: 12 }),
          async (plan) => {
            await using stack = new AsyncDisposableStack();
            const { transport, proxy, objects } = await setUp({}, stack);
            await transport.unary("GetSchema", new Uint8Array(), {});
            proxy.plan.push(...plan);
            const ids = ["a", "b", "c", "d"];
            const ended = await Promise.all(ids.map((id) => apply(transport, id, id)));
            proxy.plan.length = 0;
            await proxy.settled();
            for (const [i, id] of ids.entries()) {
              agree(
                ended[i] ?? { kind: "unknown" },
                objects.filter(({ request }) => request === id),
              );
            }
          },
        ),
        { numRuns: runs },
      );
      // A history waits for what is late and asks for what was lost.
    },
    60_000 * Math.max(1, Number(process.env.STACKWRIGHT_RUNS ?? 1)),
  );

  it("leave nothing open when the function is deployed anew in the middle", async () => {
    const { transport, proxy, objects, server, deploy } = await setUp();
    await transport.unary("GetSchema", new Uint8Array(), {});
    proxy.plan.push("cut-answer");
    const first = apply(transport, "one", "op-1");
    await expect.poll(() => objects.length).toBe(1);
    const next = await deploy(true);
    proxy.target = next.url;
    await server.close();
    agree(await first, objects);
    expect((await first).kind).toBe("applied");
    // The same operation once more, as after a restart of the caller.
    agree(await apply(transport, "one", "op-1"), objects);
  });

  it("stay open when the function is deployed anew without its journal, and are not repeated", async () => {
    const { transport, proxy, objects, deploy } = await setUp();
    await transport.unary("GetSchema", new Uint8Array(), {});
    const next = await deploy(false);
    proxy.plan.push("cut-answer");
    // The question for the outcome reaches the new function, which refuses it.
    proxy.onForwarded = () => {
      proxy.target = next.url;
    };
    const ended = await apply(transport, "one", "op-1");
    expect(ended.kind).toBe("unknown");
    expect(objects).toHaveLength(1);
  });
});
