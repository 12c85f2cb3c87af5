import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { serve } from "../serve.ts";
import { startCollector } from "../testing/start-collector.ts";
import { startWorkerProcess } from "../testing/start-worker-process.ts";
import { tarOf } from "../testing/tar-of.ts";

// A worker in a process of its own: what it traces and logs of a run belongs to the request that asked for the run.

const MAIN = join(import.meta.dirname, "..", "main.ts");
const waiting = { timeout: 90_000, interval: 200 };
const CALLER = { traceId: "a".repeat(32), spanId: "b".repeat(16) };

it("a remote worker continues the trace of a run, in its spans, its requests and its log", {
  timeout: 180_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "worker-traces-"));
  onTestFinished(() => scratch.remove());
  const collector = await startCollector();
  const first = join(scratch.path, "first.json");
  const server = await serve(
    {
      store: `sqlite:${join(scratch.path, "store")}`,
      port: 0,
      storagePort: 0,
      bootstrapFile: first,
      executor: "none",
      logLevel: "silent",
      otlpEndpoint: collector.url,
    },
    { directory: scratch.path, env: {} },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(first, "utf8")) as BootstrapCredentials;
  const worker = await startWorkerProcess(
    MAIN,
    ["--server", server.url, "--capacity", "1", "--otlp-endpoint", collector.url],
    { cwd: scratch.path, env: { STACKWRIGHT_TOKEN: token } },
  );
  let log = "";
  worker.child.stdout.on("data", (chunk) => {
    log += String(chunk);
  });

  const place = { project: "web", stack: "one" };
  const client = createServerClient({ server: server.url, token });
  await client.createStack({ project: place.project, body: { name: place.stack } });
  const main = 'resource "terraform_data" "a" { input = "x" }\n';
  const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": main })));
  const { digest } = (await client.createConfiguration({ ...place, body })).data;
  const made = await fetch(`${server.url}/api/v1/projects/web/stacks/one/runs`, {
    method: "POST",
    body: JSON.stringify({ configuration: digest, auto_apply: true }),
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01`,
    },
  });
  const { id: run, trace_id: traceId } = (await made.json()) as Record<string, string>;
  expect(traceId).toBe(CALLER.traceId);
  const phase = async () => (await client.showRun({ ...place, run: run ?? "" })).data.phase;
  await expect.poll(phase, waiting).toBe("applied");
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
  await server.close();

  const spans = collector.spans.filter((span) => span.traceId === CALLER.traceId);
  const [request] = spans.filter(({ name }) => name.startsWith("POST /api/v1/projects"));
  expect(request).toMatchObject({ parentSpanId: CALLER.spanId });
  for (const name of ["wait plan", "run plan", "wait apply", "run apply"]) {
    const found = spans.filter((span) => span.name === name);
    expect(found, name).toMatchObject([{ parentSpanId: request?.spanId }]);
  }
  // What the worker asks the server for while it executes the step.
  const asked = spans.filter(({ name }) => name.includes("/worker/claims/:run"));
  expect(asked.length).toBeGreaterThan(2);
  expect(new Set(asked.map(({ parentSpanId }) => parentSpanId))).toEqual(
    new Set([request?.spanId]),
  );
  const lines = log
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const claims = lines.filter(({ msg }) => msg === "a run was claimed");
  expect(claims.map(({ step }) => step)).toEqual(["plan", "apply"]);
  for (const line of lines.filter((one) => one["run"] !== undefined)) {
    expect(line).toMatchObject({ run, traceId: CALLER.traceId });
  }
});
