import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { METHODS } from "../envelope/methods.ts";
import type { FgBridgeError } from "../errors.ts";
import { openDirectoryJournal } from "../function/directory-journal.ts";
import { serveFunction } from "../function/function-server.ts";
import { FunctionTargetTable } from "../target/target-table.ts";
import { TEST_PROJECT, TEST_URN } from "../testing/bridged-function.ts";
import { type Cut, startCutProxy } from "../testing/cut-proxy.ts";
import { createScriptedRunner } from "../testing/scripted-runner.ts";
import { FunctionCaller } from "./function-caller.ts";

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** A provider that names its objects as it was asked to: an object can be looked for by its name. */
async function setUp(withJournal: boolean) {
  const objects = new Map<string, number>();
  const runner = createScriptedRunner({
    script: ({ method, request }) => {
      const name = Buffer.from(request).toString();
      if (method === "ApplyResourceChange") objects.set(name, (objects.get(name) ?? 0) + 1);
      if (method === "ImportResourceState") return Buffer.from(String(objects.get(name) ?? 0));
      return undefined;
    },
  });
  const directory = await mkdtemp(join(tmpdir(), "cuts-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const journal = withJournal ? { journal: await openDirectoryJournal({ directory }) } : {};
  const server = cleanup.use(await serveFunction({ runner, port: 0, ...journal }));
  const proxy = cleanup.use(await startCutProxy(server.url));
  const table = cleanup.use(
    new FunctionTargetTable({
      functions: { [TEST_URN]: { url: proxy.url } },
      guard: { allow: ["127.0.0.0/8"] },
    }),
  );
  const caller = new FunctionCaller({
    timeouts: { totalMs: 5000 },
    retry: { baseMs: 1, budget: 10_000 },
    breaker: { consecutiveFailures: 10_000, minimumCalls: 10_000 },
    resolveTimeoutMs: 2000,
  });
  const target = table.resolve(TEST_URN, { projects: [TEST_PROJECT] });
  const transport = cleanup.use(caller.transport({ target }));
  return { transport, proxy, objects };
}

const cuts: readonly Cut[] = [
  ...[0, 1, 60, 200, 330, 420].map((afterBytes) => ({ direction: "up" as const, afterBytes })),
  ...[0, 1, 60, 150, 220].map((afterBytes) => ({ direction: "down" as const, afterBytes })),
];

describe("connections that are cut at any byte", () => {
  it("do not change what a reading method answers", async () => {
    const { transport, proxy } = await setUp(false);
    const reading = METHODS.filter(
      ({ name, repeatable }) => repeatable && !/^(Stop|Shutdown|Import)/.test(name),
    );
    for (const { name } of reading) {
      for (const cut of cuts) {
        // A connection that was kept would not be cut.
        await proxy.drop();
        proxy.plan.push(cut);
        const answer = await transport.unary(name, Buffer.from(name), {});
        expect(proxy.plan).toEqual([]);
        if (name !== "Configure") expect(Buffer.from(answer).toString()).toBe(name);
      }
    }
  });

  it.each([true, false])(
    "never make an apply run twice, and leave none open that can be looked for (journal: %s)",
    async (withJournal) => {
      const { transport, proxy, objects } = await setUp(withJournal);
      await transport.unary("GetSchema", new Uint8Array(), {});
      for (const [i, cut] of cuts.entries()) {
        const name = `object-${i}`;
        proxy.plan.push(cut);
        const operation = { operationId: name, epoch: 1n };
        const outcome = await transport
          .unary("ApplyResourceChange", Buffer.from(name), { operation })
          .then(
            () => "applied",
            (error: FgBridgeError) => error.outcome,
          );
        expect(proxy.plan).toEqual([]);
        const made = objects.get(name) ?? 0;
        expect(made, name).toBeLessThanOrEqual(1);
        if (withJournal) expect([outcome, made]).toEqual(["applied", 1]);
        else {
          // By its name the caller learns what became of it.
          const found = await transport.unary("ImportResourceState", Buffer.from(name), {});
          expect(Number(Buffer.from(found).toString())).toBe(made);
          if (outcome === "applied") expect(made).toBe(1);
          if (outcome === "not-applied") expect(made).toBe(0);
        }
      }
    },
  );

  it(
    "leave an apply exact wherever they fall",
    async ({ annotate }) => {
      const runs = Math.round(60 * Number(process.env.STACKWRIGHT_RUNS ?? 1));
      await annotate(`${runs} cut connections`, "count");
      const { transport, proxy, objects } = await setUp(true);
      await transport.unary("GetSchema", new Uint8Array(), {});
      let n = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.record({
              direction: fc.constantFrom("up" as const, "down" as const),
              afterBytes: fc.nat(600),
            }),
            { maxLength: 3 },
          ),
          async (plan) => {
            const name = `random-${n++}`;
            proxy.plan.push(...plan);
            const operation = { operationId: name, epoch: 1n };
            const outcome = await transport
              .unary("ApplyResourceChange", Buffer.from(name), { operation })
              .then(
                () => "applied",
                (error: FgBridgeError) => error.outcome,
              );
            proxy.plan.length = 0;
            const made = objects.get(name) ?? 0;
            expect(made).toBeLessThanOrEqual(1);
            if (outcome === "applied") expect(made).toBe(1);
            if (outcome === "not-applied") expect(made).toBe(0);
          },
        ),
        { numRuns: runs },
      );
    },
    60_000 * Math.max(1, Number(process.env.STACKWRIGHT_RUNS ?? 1)),
  );
});

describe("bytes through the whole bridge", () => {
  it(
    "arrive as they were sent, both ways, in every method",
    async () => {
      let answer: Uint8Array = new Uint8Array();
      const runner = createScriptedRunner({ script: () => answer });
      const server = cleanup.use(await serveFunction({ runner, port: 0 }));
      const table = cleanup.use(
        new FunctionTargetTable({
          functions: { [TEST_URN]: { url: server.url } },
          guard: { allow: ["127.0.0.0/8"] },
        }),
      );
      const target = table.resolve(TEST_URN, { projects: [TEST_PROJECT] });
      const transport = cleanup.use(new FunctionCaller().transport({ target }));
      const called = METHODS.filter(
        ({ name }) => !/^(Stop|Shutdown|GetSchema|Configure)$/.test(name),
      );
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...called),
          fc.uint8Array({ maxLength: 3000 }),
          fc.uint8Array({ maxLength: 3000 }),
          async ({ name }, request, response) => {
            answer = response;
            const got = await transport.unary(name, request, {});
            expect(Buffer.compare(got, response)).toBe(0);
            expect(Buffer.compare(runner.calls.at(-1)?.request ?? Buffer.of(1), request)).toBe(0);
          },
        ),
      );
    },
    60_000 * Math.max(1, Number(process.env.STACKWRIGHT_RUNS ?? 1)),
  );
});
