import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createManualClock } from "@stackwright/base/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import type { ExecutionJob } from "../executor/execution-job.ts";
import { serve } from "../serve.ts";
import { type Span, traceOfRun } from "../span/span.ts";
import { TraceScope } from "../span/trace-scope.ts";
import { startCollector } from "../testing/start-collector.ts";
import { tracedTask } from "../vcs/traced-task.ts";
import { StepSpans } from "./step-spans.ts";

// What docs/traces.md says of spans and of logs; linked-traces.test.ts and traces.test.ts follow runs and pull requests through a server.

const SRC = join(import.meta.dirname, "..");
const PAGE = readFileSync(join(SRC, "../docs/traces.md"), "utf8");

const POLL = { timeout: 30_000 };
const JOB = {
  name: "sw-01RUN-1",
  run: "01RUN",
  step: "apply",
  mode: "normal",
  workspace: "one",
  stack: { account: "acme", project: "web", stack: "01STACK" },
  waitingSinceMs: 500,
  tool: { name: "terraform" },
} as unknown as ExecutionJob;

/** The rows of the table of spans: the names of the spans, and what the page says of their attributes. */
const ROWS = PAGE.split("\n## ")
  .join("\n")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, names = "", , attributes = ""]) => ({
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
    attributes,
  }));

/** The attributes that words of the page stand for; those in code are their own names. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  account: ["stackwright.account"],
  project: ["stackwright.project"],
  stack: ["stackwright.stack", "stackwright.stack_id"],
  mode: ["stackwright.mode"],
  execution: ["stackwright.execution"],
  tool: ["stackwright.tool"],
  connection: ["stackwright.connection"],
  "number of the pull request": ["stackwright.pull_request"],
  method: ["http.request.method"],
  route: ["http.route"],
  status: ["http.response.status_code"],
  "`phase` that it ended with": ["stackwright.phase"],
};

/** The attributes that a row says, with those of a run where it does not say that there are none. */
function saidIn(attributes: string): readonly string[] {
  const isOfRun =
    !attributes.includes("neither step nor run") && !attributes.includes("request_id");
  const [own = ""] = attributes.split(";");
  const said = own.split(", ").flatMap((word) => WORDS[word] ?? word.replaceAll("`", ""));
  return [...said, ...(isOfRun ? ["stackwright.run", "stackwright.step"] : [])].toSorted();
}

/** All spans of one step that has an event of each kind. */
function spansOfStep(actions: readonly string[]): readonly Span[] {
  const spans: Span[] = [];
  const steps = new StepSpans({ add: (span) => void spans.push(span) }, JOB, 1_000);
  const address = "lab_note.a";
  for (const action of actions) {
    if (["open", "renew", "close"].includes(action)) {
      for (const status of ["start", "done"]) {
        steps.event({ type: "ephemeral", address, step: action, status }, 1_000);
      }
    } else if (action === "read") {
      for (const type of ["read-start", "read-end"] as const) steps.event({ type, address }, 1_000);
    } else {
      steps.event({ type: "step-start", address, action }, 1_000);
      steps.event({ type: "step-end", address, action, status: "done" }, 1_000);
    }
  }
  for (const status of ["start", "done"]) {
    steps.event({ type: "provision", address, provisioner: "local-exec", status }, 1_000);
  }
  for (const status of ["starting", "started"]) {
    steps.event({ type: "provider", provider: "lab", status }, 1_000);
  }
  steps.over(undefined, 2_000);
  return spans;
}

/** Attributes by the name of a span. */
function attributesOf(spans: readonly Pick<Span, "name" | "attributes">[], name: string) {
  const span = spans.find((one) => one.name === name);
  return [name, Object.keys(span?.attributes ?? {}).toSorted()];
}

describe("the spans of the page", () => {
  it("are those of a step, with their attributes", () => {
    const calls = ROWS.find(({ names }) => names.includes("create"))?.names ?? [];
    const spans = spansOfStep(calls);
    const written = ROWS.slice(0, 5).flatMap(({ names, attributes }) =>
      names
        .filter((name) => !/^(?:run|wait) (?!apply)/.test(name))
        .map((name) => [name.replace("NAME", "local-exec"), saidIn(attributes)] as const),
    );
    expect(written.map(([name]) => name).toSorted()).toEqual(
      spans.map(({ name }) => name).toSorted(),
    );
    for (const [name, said] of written) expect(attributesOf(spans, name)).toEqual([name, said]);
  });

  it("have the actions of an apply, and no other", () => {
    const events = readFileSync(join(SRC, "../../../packages/core/src/events.ts"), "utf8");
    const [, actions = ""] = /export type StepAction = (.*?);/s.exec(events) ?? [];
    const known = [...actions.matchAll(/"(\w+)"/g)].map(([, name = ""]) => name);
    const calls = ROWS.find(({ names }) => names.includes("create"))?.names ?? [];
    expect([...known, "open", "renew", "close"].toSorted()).toEqual(calls.toSorted());
  });

  it("are those of the work for pull requests and branches", async () => {
    const row = ROWS.find(({ names }) => names.includes("advance branch"));
    const spans: Span[] = [];
    const parts = {
      clock: createManualClock(),
      traces: new TraceScope(),
      spans: { add: (span: Span) => void spans.push(span) },
    } as unknown as Parameters<typeof tracedTask>[0];
    const reference = { account: "acme", project: "web", name: "infra" };
    for (const pullRequest of ["", "7"]) {
      const task = { pullRequest, traceParents: [`00-${"a".repeat(32)}-${"b".repeat(16)}-01`] };
      type Given = Parameters<typeof tracedTask>;
      await tracedTask(parts, reference as Given[1], task as Given[2], undefined, async () =>
        Promise.resolve(),
      );
    }
    expect(spans.map(({ name }) => name)).toEqual(row?.names);
    expect(attributesOf(spans, "advance pull request")[1]).toEqual(saidIn(row?.attributes ?? ""));
    const written = ROWS.find(({ names }) => names.includes("write comment"))?.names ?? [];
    const source = readFileSync(join(SRC, "vcs/open-connection.ts"), "utf8");
    const called = [...source.matchAll(/tracedCall\(parts, "(.*?)"/g)].map(([, name]) => name);
    expect(called).toEqual(written);
  });

  it("have the id that the page derives for a run alone", () => {
    expect(PAGE).toContain("the first 32 hexadecimal digits of the SHA-256 of its id");
    const digest = createHash("sha256").update("01RUN").digest("hex");
    expect(traceOfRun("01RUN").traceId).toBe(digest.slice(0, 32));
  });

  it.each([
    ["at most 20,000 calls", "tracing/step-spans.ts", "MAX_SPANS = 20_000;"],
    ["sent every two seconds", "tracing/span-exporter.ts", "FLUSH_MS = 2_000;"],
    ["at most 10,000 wait", "tracing/span-exporter.ts", "MAX_WAITING = 10_000;"],
    ["tried three times", "tracing/span-exporter.ts", "ATTEMPTS = 3;"],
    ["most once a minute", "tracing/span-exporter.ts", "REPORT_MS = 60_000;"],
  ])("have the bound %s", (says, file, code) => {
    expect(PAGE).toContain(says);
    expect(readFileSync(join(SRC, file), "utf8")).toContain(code);
  });
});

it("an execution that has more calls than the page says counts those beyond", () => {
  const spans: Span[] = [];
  const steps = new StepSpans({ add: (span) => void spans.push(span) }, JOB, 1_000);
  for (let at = 0; at < 20_003; at += 1) {
    steps.event({ type: "read-start", address: `lab_note.a[${at}]` }, 1_000);
  }
  steps.over(undefined, 2_000);
  const [, name = ""] = /`(stackwright\.\w+)` counts those/.exec(PAGE) ?? [];
  expect(spans.at(-1)?.attributes[name]).toBe(3);
});

it("requests have the span and the lines of the page, without what the page leaves out", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "traces-page-"));
  onTestFinished(() => scratch.remove());
  const collector = await startCollector();
  const lines: string[] = [];
  const bootstrapFile = join(scratch.path, "first.json");
  const server = await serve(
    { store: "memory:", port: 0, bootstrapFile, executor: "none", otlpEndpoint: collector.url },
    { directory: scratch.path, env: {}, logs: { write: (line) => void lines.push(line) } },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(bootstrapFile, "utf8")) as BootstrapCredentials;
  const answer = await fetch(`${server.url}/api/v1/projects/web/stacks?limit=canary-1`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      "x-canary": "canary-2",
    },
    body: JSON.stringify({ name: "canary-3 is no name" }),
  });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  const id = answer.headers.get("x-request-id");
  expect(await answer.json()).toMatchObject({ request_id: id });

  const row = ROWS.find(({ names }) => names.includes("METHOD ROUTE"));
  const seen = () => collector.spans.find(({ traceId }) => traceId === "a".repeat(32));
  await expect.poll(seen, POLL).toMatchObject({
    name: "POST /api/v1/projects/:project/stacks",
    parentSpanId: "b".repeat(16),
    attributes: { "stackwright.request_id": id },
  });
  expect(Object.keys(seen()?.attributes ?? {}).toSorted()).toEqual(saidIn(row?.attributes ?? ""));

  const [, members = ""] = /one JSON object per line, with (.*?);/.exec(PAGE) ?? [];
  const required = [...members.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(required).toHaveLength(3);
  const parsed = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  for (const line of parsed) expect(Object.keys(line)).toEqual(expect.arrayContaining(required));
  const about = parsed.filter(({ reqId }) => reqId === id);
  expect(about.length).toBeGreaterThan(0);
  for (const line of about) expect(line["traceId"]).toBe("a".repeat(32));
  expect(lines.join("")).not.toContain("canary-");
});
