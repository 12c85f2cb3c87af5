import { mkdtempDisposable, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import type { ExecutionJob } from "../executor/execution-job.ts";
import type { Executor } from "../executor/executor.ts";
import { createApartExecutor } from "../testing/apart-executor.ts";
import { P, S, startApi } from "../testing/start-api.ts";
import { startRemoteWorker } from "./start-remote-worker.ts";

const MAIN = `
variable "word" {}
resource "terraform_data" "a" { input = var.word }
output "a" {
  value     = terraform_data.a.output
  sensitive = true
}
`;
const waiting = { timeout: 30_000, interval: 50 };

async function start() {
  // The client opens a connection again after a request that was aborted, which the server would wait for.
  const api = await startApi("none", { storagePort: 0, drainTimeoutMs: 500 });
  const { call, upload, server, tokenOf } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const variable = { value: "canary-of-a-variable", sensitive: true };
  await call("PUT", `${S}/variables/terraform/word`, { body: variable });
  const { digest } = (await upload({ "main.tf": MAIN })).json;
  const scratch = await mkdtempDisposable(join(tmpdir(), "remote-worker-"));
  onTestFinished(() => scratch.remove());
  const directory = join(scratch.path, "runs");
  const token = await tokenOf("worker");
  const worker = async (
    executor: Executor = createApartExecutor(),
    more: {
      readonly clock?: Clock;
      readonly token?: string;
      readonly servers?: readonly string[];
    } = {},
  ) => {
    const given = { servers: [server.url], token, clock: systemClock, capacity: 2, ...more };
    const started = await startRemoteWorker({
      ...given,
      directory,
      executor,
      logger: silentLogger,
    });
    onTestFinished(async () => started.close());
    return started;
  };
  const request = async (more: object = {}): Promise<string> => {
    const body = { configuration: digest, ...more };
    return `${S}/runs/${String((await call("POST", `${S}/runs`, { body })).json["id"])}`;
  };
  const reaches = async (run: string, phase: string) => {
    await expect.poll(async () => (await call("GET", run)).json["phase"], waiting).toBe(phase);
    return (await call("GET", run)).json;
  };
  const approve = async (run: string, planDigest: unknown) =>
    call("POST", `${run}/approvals`, { body: { plan_digest: planDigest } });
  return { ...api, directory, token, worker, request, reaches, approve };
}

it("plans and applies over the server alone, and its events are those of the run", {
  timeout: 90_000,
}, async () => {
  const { call, worker, request, reaches, approve, directory } = await start();
  const { id } = await worker();
  const run = await request();
  const { plan_digest: digest } = await reaches(run, "awaiting_approval");
  await approve(run, digest);
  await reaches(run, "applied");
  const { text } = await call("GET", `${run}/events`);
  expect(text).toContain('"address":"terraform_data.a"');
  expect(text).toContain(`"actor":"${id}"`);
  expect(text).not.toContain("canary-of-a-variable");
  const seqs = [...text.matchAll(/"seq":([0-9]+)/g)].map(([, seq]) => Number(seq));
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  const second = await request();
  await reaches(second, "no_changes");
  const [folder = ""] = (await readdir(directory)).filter((name) => name.startsWith("w-"));
  await expect.poll(async () => readdir(join(directory, folder)), waiting).toEqual([]);
});

it("has identity tokens of its runs", { timeout: 60_000 }, async () => {
  const { call, worker, request, reaches } = await start();
  const name = `${S}/variables/env/STACKWRIGHT_IDENTITY_AUDIENCE`;
  await call("PUT", name, { body: { value: "cloud" } });
  await worker();
  const run = await request({ auto_apply: true });
  await reaches(run, "applied");
  const { text } = await call("GET", `${run}/events`);
  const subject = "account:default:project:web:stack:one:phase";
  for (const phase of ["plan", "apply"]) expect(text).toContain(`"subject":"${subject}:${phase}"`);
});

it("applies without an approval what is requested so, in one go", async () => {
  const { worker, request, reaches } = await start();
  await worker();
  await reaches(await request({ auto_apply: true }), "applied");
});

it("works with a clock that is hours off", async () => {
  const { worker, request, reaches } = await start();
  for (const hours of [-2, 2]) {
    const clock: Clock = {
      monotonicMs: () => systemClock.monotonicMs(),
      wallMs: () => systemClock.wallMs() + hours * 3_600_000,
      after: (ms, task) => systemClock.after(ms, task),
    };
    const skewed = await worker(createApartExecutor(), { clock });
    await reaches(await request({ mode: "plan_only" }), "plan_finished");
    await skewed.close();
  }
});

it("hears of a cancel, and ends what it executes", async () => {
  const { call, worker, request, reaches } = await start();
  const started = Promise.withResolvers<void>();
  // It ends by the cancel alone.
  await worker(
    createApartExecutor(async (_job, stopped) => {
      started.resolve();
      await stopped;
    }),
  );
  const run = await request();
  await started.promise;
  await call("POST", `${run}/cancel`, { body: {} });
  await reaches(run, "canceled");
});

it("a worker that ends gives its plans to others, and lets its applies end", async () => {
  const { worker, request, reaches, approve } = await start();
  const jobs: ExecutionJob[] = [];
  const applying = Promise.withResolvers<void>();
  const first = await worker(
    createApartExecutor(async (job) => {
      jobs.push(job);
      if (job.step === "apply") applying.resolve();
    }),
  );
  const run = await request();
  await approve(run, (await reaches(run, "awaiting_approval"))["plan_digest"]);
  await applying.promise;
  await first.close(30_000);
  await reaches(run, "applied");
  expect(jobs.map(({ step }) => step)).toEqual(["plan", "apply"]);
  // It claims nothing more.
  const next = await request();
  const second = await worker();
  await reaches(next, "no_changes");
  await second.close();
});

it("a plan outlasts more workers that end in an orderly way than may be lost", {
  timeout: 90_000,
}, async () => {
  const { worker, request, reaches } = await start();
  const run = await request();
  for (let count = 0; count < 3; count += 1) {
    const planning = Promise.withResolvers<void>();
    const ending = await worker(
      createApartExecutor(async (_job, stopped) => {
        planning.resolve();
        await stopped;
      }),
    );
    await planning.promise;
    await ending.close();
  }
  await worker();
  await reaches(run, "awaiting_approval");
});

it("is refused with another role, with a false token, and by a server that is none", async () => {
  const { worker, tokenOf } = await start();
  const executor = createApartExecutor();
  await expect(worker(executor, { token: await tokenOf("admin") })).rejects.toMatchObject({
    code: "forbidden",
  });
  await expect(worker(executor, { token: `sw_${"A".repeat(43)}` })).rejects.toMatchObject({
    code: "unauthenticated",
  });
});

it("ends its step by a server of another release when that of its own is gone", {
  timeout: 90_000,
}, async () => {
  const { worker, request, reaches, server } = await start();
  const own = await startFront(server.url, 0);
  const newer = await startFront(server.url, 1);
  const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const executor = createApartExecutor(async ({ step }) => {
    if (step !== "apply") return;
    begun.resolve();
    await mayEnd.promise;
  });
  await worker(executor, { servers: [own.url, newer.url] });
  const run = await request({ auto_apply: true });
  await begun.promise;
  own.close();
  await newer.claims;
  // From here on it reaches the store by that server alone.
  mayEnd.resolve();
  await reaches(run, "applied");
});

it("starts a step at a server of its own release, where others have the same address", {
  timeout: 90_000,
}, async () => {
  const { call, worker, request, reaches, server } = await start();
  const starts = { others: 1 };
  const front = await startFront(server.url, 0, starts);
  await worker(createApartExecutor(), { servers: [front.url] });
  const run = await request({ auto_apply: true });
  await reaches(run, "applied");
  expect(starts.others).toBe(0);
  const { text } = await call("GET", `${run}/events`);
  expect(text.match(/"to":"preparing"/g)).toHaveLength(1);
});

/** A way to a server which says that it speaks a later version with workers, or is another server where steps are started. */
async function startFront(target: string, later: number, starts = { others: 0 }) {
  const claims = Promise.withResolvers<void>();
  const front = createServer((request, response) => {
    const pass = async (): Promise<void> => {
      const { url = "", method = "GET", headers } = request;
      const body = method === "GET" ? undefined : Uint8Array.from(await buffer(request));
      if (url.endsWith("/worker/claims")) claims.resolve();
      const { authorization = "", "content-type": type = "" } = headers;
      const answer = await fetch(target + url, {
        method,
        headers: { authorization, ...(type !== "" && { "content-type": type }) },
        ...(body !== undefined && { body }),
      });
      const said = (await answer.text())
        .replace(
          /"protocol":([0-9]+),"storage_port"/,
          (_, version: string) => `"protocol":${Number(version) + later},"storage_port"`,
        )
        .replace(/"protocol":([0-9]+),"job"/, (same, version: string) => {
          if (starts.others === 0) return same;
          starts.others -= 1;
          return `"protocol":${Number(version) - 1},"job"`;
        });
      response.writeHead(answer.status, {
        "content-type": answer.headers.get("content-type") ?? "application/json",
      });
      response.end(said);
    };
    pass().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const close = (): void => {
    front.close();
    front.closeAllConnections();
  };
  onTestFinished(close);
  const { port } = front.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, claims: claims.promise, close };
}
