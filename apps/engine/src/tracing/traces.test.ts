import { systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import type { Span } from "../span/span.ts";
import { traceOfRun } from "../span/span.ts";
import { P, S, startApi } from "../testing/start-api.ts";
import { startCollector } from "../testing/start-collector.ts";
import { SpanExporter } from "./span-exporter.ts";
import { traceTargetOf } from "./trace-target.ts";

const POLL = { timeout: 60_000 };
const CANARY = "canary-1f7c";
const MAIN = `
variable "password" { sensitive = true }
resource "terraform_data" "a" { input = var.password }
`;

it("a run is one trace from its request to the calls of its apply, which the requests about it link to, without a value", {
  timeout: 120_000,
}, async () => {
  const collector = await startCollector();
  const { call, upload } = await startApi("in-process", { otlpEndpoint: collector.url });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  await call("PUT", `${S}/variables/terraform/password`, {
    body: { value: CANARY, sensitive: true },
    headers: { "if-none-match": "*" },
  });
  const { digest } = (await upload({ "main.tf": MAIN })).json;
  const made = await call("POST", `${S}/runs`, {
    body: { configuration: digest, auto_apply: true, message: CANARY },
    headers: { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` },
  });
  const id = String(made.json["id"]);
  const phase = async () => (await call("GET", `${S}/runs/${id}`)).json["phase"];
  await expect.poll(phase, POLL).toBe("applied");
  const trace = { traceId: "a".repeat(32) };
  expect(made.json["trace_id"]).toBe(trace.traceId);
  const ofRun = () => collector.spans.filter(({ traceId }) => traceId === trace.traceId);
  await expect.poll(() => ofRun().map(({ name }) => name), POLL).toContain("run apply");

  const plan = ofRun().find(({ name }) => name === "run plan");
  const apply = ofRun().find(({ name }) => name === "run apply");
  expect(plan?.attributes).toMatchObject({
    "stackwright.run": id,
    "stackwright.project": "web",
    "stackwright.stack": "one",
    "stackwright.phase": "planned",
  });
  const create = ofRun().find(({ name }) => name === "create");
  expect(create).toMatchObject({
    parentSpanId: apply?.spanId,
    kind: 3,
    attributes: {
      "stackwright.address": "terraform_data.a",
      "stackwright.status": "done",
      "stackwright.run": id,
    },
  });
  expect(BigInt(create?.startTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(
    BigInt(apply?.startTimeUnixNano ?? 0),
  );
  // What the run waited for, by its history: until it was claimed.
  for (const [step, claimed] of [
    ["plan", plan],
    ["apply", apply],
  ] as const) {
    const wait = ofRun().find(({ name }) => name === `wait ${step}`);
    expect(wait?.endTimeUnixNano).toBe(claimed?.startTimeUnixNano);
    expect(BigInt(wait?.startTimeUnixNano ?? 0)).toBeLessThanOrEqual(
      BigInt(wait?.endTimeUnixNano ?? 0),
    );
  }
  const requested = () => ofRun().find(({ kind }) => kind === 2);
  await expect.poll(requested, POLL).toMatchObject({
    name: "POST /api/v1/projects/:project/stacks/:stack/runs",
    parentSpanId: "b".repeat(16),
    attributes: { "stackwright.run": id, "http.response.status_code": "201" },
  });
  // Without an approval the apply goes on where the run was requested.
  for (const step of [plan, apply]) {
    expect(step).toMatchObject({ parentSpanId: requested()?.spanId });
    expect(step).not.toHaveProperty("links");
  }
  // A request about the run links to its trace.
  const asked = () =>
    collector.spans.find((one) => one.links?.some((link) => link.traceId === trace.traceId));
  await expect.poll(asked, POLL).toMatchObject({
    name: "GET /api/v1/projects/:project/stacks/:stack/runs/:run",
    links: [{ spanId: requested()?.spanId }],
  });
  expect(JSON.stringify(collector.requests)).not.toContain(CANARY);
});

it("programs of a step get its span as the parent of theirs, unless their stack names one", {
  timeout: 120_000,
}, async () => {
  const collector = await startCollector();
  const { call, upload } = await startApi("in-process", { otlpEndpoint: collector.url });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const script = 'echo "parent is $TRACEPARENT"';
  const hooks = [{ name: "say", stage: "before_plan", script }];
  await call("PUT", `${S}/hooks`, { body: { hooks }, headers: { "if-match": "*" } });
  const { digest } = (await upload()).json;
  const parentOf = async (): Promise<readonly [string, string]> => {
    const body = { configuration: digest, mode: "plan_only" };
    const id = String((await call("POST", `${S}/runs`, { body })).json["id"]);
    const phase = async () => (await call("GET", `${S}/runs/${id}`)).json["phase"];
    await expect.poll(phase, POLL).toBe("plan_finished");
    const { json: run } = await call("GET", `${S}/runs/${id}`);
    const traceId = String(run["trace_id"]);
    const step = () =>
      collector.spans.find((one) => one.traceId === traceId && one.name === "run plan");
    await expect.poll(step, POLL).toBeDefined();
    const { text } = await call("GET", `${S}/runs/${id}/events`);
    const [, said = ""] = /parent is ([0-9a-z-]+)/.exec(text) ?? [];
    return [said, `00-${traceId}-${step()?.spanId}-01`];
  };
  const [said, expected] = await parentOf();
  expect(said).toBe(expected);
  const own = `00-${"e".repeat(32)}-${"f".repeat(16)}-01`;
  const body = { value: own };
  await call("PUT", `${S}/variables/env/TRACEPARENT`, {
    body,
    headers: { "if-none-match": "*" },
  });
  expect((await parentOf())[0]).toBe(own);
});

it("what stands in the place of a run's id is in no span", { timeout: 60_000 }, async () => {
  const collector = await startCollector();
  const { server } = await startApi("none", { otlpEndpoint: collector.url });
  const headers = { traceparent: `00-${"c".repeat(32)}-${"d".repeat(16)}-01` };
  await fetch(`${server.url}${S}/runs/${CANARY}`, { headers });
  const seen = () => collector.spans.find(({ traceId }) => traceId === "c".repeat(32));
  await expect.poll(seen, POLL).toMatchObject({ kind: 2 });
  expect(JSON.stringify(collector.requests)).not.toContain(CANARY);
});

it("a caller says whether its spans are reported, and what other systems note of them", {
  timeout: 60_000,
}, async () => {
  const collector = await startCollector();
  const { call, upload } = await startApi("in-process", { otlpEndpoint: collector.url });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": 'output "a" { value = 1 }' })).json;
  const traceparent = `00-${"e".repeat(32)}-${"f".repeat(16)}-00`;
  const body = { configuration: digest };
  const made = await call("POST", `${S}/runs`, { body, headers: { traceparent } });
  expect(made.json["trace_id"]).toBe("e".repeat(32));
  const run = `${S}/runs/${String(made.json["id"])}`;
  await expect
    .poll(async () => (await call("GET", run)).json["phase"], POLL)
    .toMatch(/^(?:awaiting_approval|no_changes)$/);
  const tracestate = "congo=t61rcWkgMzE,rojo=00f0";
  const sampled = { traceparent: `00-${"c".repeat(32)}-${"d".repeat(16)}-01`, tracestate };
  await call("GET", run, { headers: sampled });
  const seen = () => collector.spans.find(({ traceId }) => traceId === "c".repeat(32));
  await expect.poll(seen, POLL).toMatchObject({ traceState: tracestate });
  // They would have been sent before.
  expect(collector.spans.filter(({ traceId }) => traceId === "e".repeat(32))).toEqual([]);
});

it("a step that fails is a failed span", { timeout: 120_000 }, async () => {
  const collector = await startCollector();
  const { call, upload } = await startApi("in-process", { otlpEndpoint: collector.url });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": 'output "a" { value = nope }' })).json;
  await call("POST", `${S}/runs`, { body: { configuration: digest } });
  await expect
    .poll(() => collector.spans.find(({ name }) => name === "run plan"), POLL)
    .toMatchObject({ status: { code: 2 }, attributes: { "stackwright.phase": "failed" } });
});

function span(number: number): Span {
  return {
    ...traceOfRun(`run-${number}`),
    name: "work",
    kind: "internal",
    startMs: 1_000.5,
    endMs: 2_000,
    isFailed: false,
    attributes: { number },
  };
}

it("a collector that is away, or refuses, costs its spans and nothing else", {
  timeout: 60_000,
}, async () => {
  const collector = await startCollector();
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (data: object) => void warned.push(data) };
  const env = { OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20secret, other=1" };
  const target = traceTargetOf(`${collector.url}/otel/`, env);
  const clock = createManualClock();
  {
    await using exporter = new SpanExporter({ target, resource: {}, clock, logger });
    collector.answers.push(400);
    for (let number = 0; number < 500; number += 1) exporter.add(span(number));
    await expect.poll(() => warned, POLL).toMatchObject([{ dropped: 500 }]);
    // More than are held, while the collector does not answer.
    for (let number = 0; number < 10_600; number += 1) exporter.add(span(number));
  }
  // What did not wait for the collector is sent at the end.
  expect(collector.spans.length).toBeGreaterThanOrEqual(10_000);
  expect(collector.spans.length).toBeLessThan(10_600);
  expect(collector.spans[0]).toMatchObject({
    startTimeUnixNano: "1000500000",
    endTimeUnixNano: "2000000000",
  });
  const [{ path, headers } = { path: "", headers: {} }] = collector.requests;
  expect(path).toBe("/otel/v1/traces");
  expect(headers).toMatchObject({ "x-key": "a secret", other: "1" });
  expect(JSON.stringify(warned)).not.toContain("secret");

  // Nothing listens: whoever ends does not wait for retries.
  const nowhere = traceTargetOf("http://127.0.0.1:1", {});
  await using lost = new SpanExporter({
    target: nowhere,
    resource: {},
    clock: systemClock,
    logger,
  });
  lost.add(span(1));
});

it("refuses addresses and headers that are none", () => {
  expect(traceTargetOf("https://traces.example.com/v1/traces", {}).url).toBe(
    "https://traces.example.com/v1/traces",
  );
  for (const [endpoint, headers] of [
    ["localhost:4317", ""],
    ["https://user:password@traces.example.com", ""],
    ["https://traces.example.com/?key=x", ""],
    ["https://traces.example.com", "no-value"],
    ["https://traces.example.com", "a=%zz"],
    ["https://traces.example.com", "a=%0d%0ab"],
  ] as const) {
    expect(() => traceTargetOf(endpoint, { OTEL_EXPORTER_OTLP_HEADERS: headers })).toThrow(
      /OTEL_EXPORTER_OTLP_HEADERS|--otlp-endpoint/,
    );
  }
});
