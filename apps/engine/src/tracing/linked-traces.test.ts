import { createHmac } from "node:crypto";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { serve } from "../serve.ts";
import type { ServerOptions } from "../server-options.ts";
import { createGitPlace } from "../testing/git-place.ts";
import { startCollector } from "../testing/start-collector.ts";

const SECRET = "a-secret-of-the-webhook";
const PROJECT = "web";
const STACK = "one";
const POLL = { timeout: 60_000 };
const ID = /^[0-9a-f]{32}$/;

type Line = Readonly<Record<string, unknown>>;

/** A repository with one stack, its receiver of comments, and servers that follow each other on one store. */
async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "linked-traces-"));
  onTestFinished(() => scratch.remove());
  const place = await createGitPlace();
  const collector = await startCollector();
  const comments: string[] = [];
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      comments.push(body);
      return response.end();
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const lines: Line[] = [];
  const file = join(scratch.path, "first.json");
  const startServer = async (executor: NonNullable<ServerOptions["executor"]>) => {
    const server = await serve(
      {
        store: `sqlite:${join(scratch.path, "store")}`,
        port: 0,
        bootstrapFile: file,
        executor,
        otlpEndpoint: collector.url,
        vcsFolders: [place.repositories],
        vcsHosts: ["127.0.0.1"],
      },
      {
        directory: scratch.path,
        env: {},
        logs: { write: (line) => void lines.push(JSON.parse(line) as Line) },
      },
    );
    onTestFinished(() => server.close());
    const { token } = JSON.parse(await readFile(file, "utf8")) as BootstrapCredentials;
    const client = createServerClient({ server: server.url, token });
    const push = async (branch: string): Promise<void> => {
      await place.git("push", "--quiet", "origin", `HEAD:${branch}`);
      const body = JSON.stringify({ ref: `refs/heads/${branch}`, time: Date.now() / 1_000 });
      const signature = createHmac("sha256", SECRET).update(body).digest("hex");
      const answer = await fetch(`${server.url}/hooks/vcs/default/${PROJECT}/infra`, {
        method: "POST",
        body,
        headers: { "x-stackwright-signature": `sha256=${signature}` },
      });
      expect(answer.status).toBe(202);
    };
    const runs = async () => {
      const { data } = await client.listRuns({ project: PROJECT, stack: STACK });
      return data.runs;
    };
    return { server, client, token, push, runs };
  };
  const reportUrl = `http://127.0.0.1:${port}/reports`;
  return { place, collector, comments, lines, startServer, reportUrl };
}

it("a push is one trace up to its comment, and what somebody decides another one that links to it, over servers that follow each other", {
  timeout: 180_000,
}, async () => {
  const { place, collector, comments, lines, startServer, reportUrl } = await start();
  const { spans } = collector;
  const one = await startServer("none");
  await one.client.createStack({ project: PROJECT, body: { name: STACK } });
  await one.client.createVcsConnection({
    project: PROJECT,
    body: {
      name: "infra",
      kind: "generic",
      repository_url: `file://${place.bare}`,
      webhook_secret: SECRET,
      report_url: reportUrl,
      apply: "on_merge",
      stacks: [{ stack: STACK, directory: STACK }],
    },
  });
  const settled = async ({ client }: Pick<typeof one, "client">): Promise<void> => {
    const tasks = async () =>
      (await client.listVcsTasks({ project: PROJECT, connection: "infra" })).data.tasks;
    await expect.poll(tasks, POLL).toEqual([]);
  };
  await settled(one);
  await place.commit({ "one/main.tf": 'resource "terraform_data" "a" { input = 1 }\n' });
  await one.push("main");
  await expect.poll(async () => (await one.runs()).length, POLL).toBe(1);
  await settled(one);
  // The run waits for a worker, which the next server has.
  await one.server.close();

  const two = await startServer("in-process");
  const phases = async () => (await two.runs()).map(({ phase }) => phase);
  await expect.poll(phases, POLL).toEqual(["awaiting_approval"]);
  const [planned] = await two.runs();
  const caller = { traceId: "a".repeat(32), spanId: "b".repeat(16) };
  const approval = await fetch(
    `${two.server.url}/api/v1/projects/${PROJECT}/stacks/${STACK}/runs/${planned?.id}/approvals`,
    {
      method: "POST",
      body: JSON.stringify({ plan_digest: planned?.plan_digest }),
      headers: {
        authorization: `Bearer ${two.token}`,
        "content-type": "application/json",
        traceparent: `00-${caller.traceId}-${caller.spanId}-01`,
      },
    },
  );
  expect(approval.status).toBe(201);
  await expect.poll(phases, POLL).toEqual(["applied"]);

  await place.git("checkout", "--quiet", "-b", "change");
  await place.commit({ "one/main.tf": 'resource "terraform_data" "a" { input = 2 }\n' });
  await two.push("change");
  await expect.poll(() => comments.some((body) => body.includes("1 to change")), POLL).toBe(true);
  await settled(two);
  await place.git("checkout", "--quiet", "main");
  await place.git("merge", "--quiet", "--no-ff", "--message", "merge", "change");
  await two.push("main");
  await expect.poll(phases, POLL).toEqual(["applied", "plan_finished", "applied"]);
  await settled(two);
  const [pushed, speculative, merged] = await two.runs();
  // Sends what waits.
  await two.server.close();

  const find = (name: string, traceId: string | undefined) =>
    spans.filter((span) => span.name === name && span.traceId === traceId);
  const [hook, ...others] = find("POST /hooks/vcs/:account/:project/:connection", pushed?.trace_id);
  expect([hook?.parentSpanId, others]).toEqual([undefined, []]);
  // From the delivery to the calls of the plan, over the restart.
  const [branch] = find("advance branch", pushed?.trace_id);
  expect(branch).toMatchObject({ parentSpanId: hook?.spanId, kind: 5 });
  for (const name of ["wait plan", "run plan"]) {
    expect(find(name, pushed?.trace_id)).toMatchObject([
      { parentSpanId: branch?.spanId, attributes: { "stackwright.run": pushed?.id } },
    ]);
  }
  // Somebody decides: the apply is part of the request that approved it, and links to where the run was requested.
  expect(pushed?.apply_trace_id).toBe(caller.traceId);
  const approved = "POST /api/v1/projects/:project/stacks/:stack/runs/:run/approvals";
  const [decided] = find(approved, caller.traceId);
  const request = { traceId: pushed?.trace_id, spanId: branch?.spanId };
  expect(decided).toMatchObject({ parentSpanId: caller.spanId, links: [request] });
  const [apply] = find("run apply", caller.traceId);
  expect(apply).toMatchObject({ parentSpanId: decided?.spanId, links: [request] });
  expect(find("create", caller.traceId)).toMatchObject([{ parentSpanId: apply?.spanId }]);
  // The comment belongs to the push that it is about, though it is written once the plan has ended.
  const [plan] = find("run plan", speculative?.trace_id);
  const [comment] = find("write comment", speculative?.trace_id).slice(-1);
  const ancestors = (span: (typeof spans)[number] | undefined): string[] => {
    const parent = spans.find(({ spanId }) => spanId === span?.parentSpanId);
    return parent === undefined ? [] : [parent.name, ...ancestors(parent)];
  };
  const root = "POST /hooks/vcs/:account/:project/:connection";
  expect(ancestors(plan).at(-1)).toBe(root);
  expect(ancestors(comment).at(-1)).toBe(root);
  expect(BigInt(comment?.startTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(
    BigInt(plan?.startTimeUnixNano ?? 0),
  );
  // The merge is a push of its own; its work on the pull request links to the one that was planned for it.
  expect(new Set([pushed, speculative, merged].map((run) => run?.trace_id)).size).toBe(3);
  const [step] = find("run apply", merged?.apply_trace_id ?? merged?.trace_id);
  expect(ancestors(step).at(-1)).toBe(root);
  const linked = find("advance pull request", merged?.trace_id).flatMap(({ links = [] }) => links);
  expect(linked.map(({ traceId }) => traceId)).toContain(speculative?.trace_id);

  // What is logged about a run has its id and its trace, and what is about a request the trace of that.
  const traces = new Map(
    [pushed, speculative, merged].map((run) => [run?.id, [run?.trace_id, run?.apply_trace_id]]),
  );
  const claims = lines.filter(({ msg }) => msg === "a run was claimed");
  expect(claims.map(({ run, step: name }) => [run, name])).toEqual([
    [pushed?.id, "plan"],
    [pushed?.id, "apply"],
    [speculative?.id, "plan"],
    [merged?.id, "plan"],
    [merged?.id, "apply"],
  ]);
  for (const line of lines) {
    const { run, traceId, reqId } = line;
    if (run !== undefined || reqId !== undefined) expect(traceId, JSON.stringify(line)).toMatch(ID);
    if (typeof run === "string" && reqId === undefined) expect(traces.get(run)).toContain(traceId);
  }
  const completed = lines.find(
    ({ msg, traceId }) => msg === "request completed" && traceId === caller.traceId,
  );
  expect(completed).toMatchObject({ run: pushed?.id });
});
