import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Plan sets as servers execute them: each step in a process of its own, at the server or at a worker elsewhere.

const MAIN = join(import.meta.dirname, "main.ts");
const PROJECT = "/api/v1/projects/default";
const NETWORK = `
resource "terraform_data" "net" { input = "v1" }
output "id" { value = terraform_data.net.id }
`;
const APP = `
data "terraform_remote_state" "network" {
  backend = "stackwright"
  config  = { stack = "network" }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.id }
output "id" { value = terraform_data.a.output }
`;

interface ShownSet {
  readonly id: string;
  readonly phase: string;
  readonly digest?: string;
  readonly stacks: readonly { readonly stack: string; readonly run: string }[];
}

it.each(["child processes of a server", "a worker elsewhere"])(
  "a set is approved once and applied in order by %s",
  { timeout: 240_000 },
  async (place) => {
    const cwd = await mkdtemp(join(tmpdir(), "plan-sets-"));
    // Executors of a server that was killed end a moment later.
    onTestFinished(async () => rm(cwd, { recursive: true, force: true, maxRetries: 20 }));
    const isElsewhere = place === "a worker elsewhere";
    const words = ["--store", "sqlite:data", "--bootstrap-file", "first.json"];
    const server = await startServerProcess(
      MAIN,
      [...words, "--storage-port", "0", ...(isElsewhere ? ["--executor", "none"] : [])],
      { cwd },
    );
    const { token } = JSON.parse(await readFile(join(cwd, "first.json"), "utf8")) as {
      readonly token: string;
    };
    if (isElsewhere) {
      const env = { STACKWRIGHT_TOKEN: token };
      await startWorkerProcess(MAIN, ["--server", server.url, "--directory", "w"], { cwd, env });
    }
    const call = async (path: string, body?: object | Uint8Array<ArrayBuffer>) => {
      const isBytes = body instanceof Uint8Array;
      const answer = await fetch(server.url + PROJECT + path, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${token}`,
          ...(body && { "content-type": isBytes ? "application/gzip" : "application/json" }),
        },
        ...(body && { body: isBytes ? body : JSON.stringify(body) }),
      });
      const said = await answer.text();
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${said}`);
      return JSON.parse(said) as unknown;
    };
    const stacks = [];
    for (const [stack, text] of Object.entries({ app: APP, network: NETWORK })) {
      await call("/stacks", { name: stack });
      const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
      const made = (await call(`/stacks/${stack}/configurations`, archive)) as { digest: string };
      stacks.push({ stack, configuration: made.digest });
    }
    const { id } = (await call("/plan-sets", { stacks, mode: "apply" })) as ShownSet;
    const show = async () => (await call(`/plan-sets/${id}`)) as ShownSet;
    const reaches = async (phase: string) =>
      expect
        .poll(async () => (await show()).phase, { timeout: 100_000, interval: 100 })
        .toBe(phase);
    await reaches("awaiting_approval");
    const planned = await show();
    await call(`/plan-sets/${id}/approvals`, { digest: planned.digest });
    await reaches("applied");
    expect(planned.stacks.map(({ stack }) => stack)).toEqual(["network", "app"]);
    const client = createServerClient({ server: server.url, token });
    const times: number[] = [];
    for (const [index, { stack, run }] of planned.stacks.entries()) {
      const events = client.followRun({ project: "default", stack, run });
      const phase = index === 0 ? "applied" : "applying";
      for await (const event of events) {
        if (event["to"] === phase) times.push(event.at);
      }
    }
    expect(times).toHaveLength(2);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  },
);
