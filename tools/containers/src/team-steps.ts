import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { requireCommand } from "@stackwright-tools/processes";
import { ended, hardened, type TrialStep } from "./trial-steps.ts";
import type { TrialWorld } from "./trial-world.ts";

const HEADING = "Two servers and two workers";
const SERVICES = ["server-2", "worker-1", "worker-2"];
const STACK = "/api/v1/projects/web/stacks";
const LIMIT_MS = 120_000;
const MAIN = 'resource "terraform_data" "a" { input = "x" }\n';

/** A second server, and two workers that execute the runs of both. */
export const TEAM_STARTING: readonly TrialStep[] = [
  {
    name: "docs/compose.md leads to a second server and two workers, which execute runs",
    run: async (world) => {
      ended(await world.follows(HEADING, 0), 0, /./);
      await world.project.healthy("server", ...SERVICES);
      await hardened(world.project, SERVICES);
      await applies(world, "one");
    },
  },
];

/** One of each dies, and the team goes. */
export const TEAM_ENDING: readonly TrialStep[] = [
  {
    name: "runs are executed while one of the servers and one of the workers are gone",
    run: async (world) => {
      await world.project.run("kill", "server-2", "worker-1");
      await applies(world, "two");
    },
  },
  {
    name: "docs/compose.md takes the team away again",
    run: async (world) => {
      ended(await world.follows(HEADING, 1), 0, /./);
      await world.project.healthy("server");
    },
  },
];

/** Requests a run, and waits until it is applied. */
async function applies(world: TrialWorld, name: string): Promise<void> {
  const { url, credentials } = await world.server();
  const call = async (method: string, path: string, body?: Uint8Array<ArrayBuffer> | object) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${url}${STACK}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${credentials.token}`,
        "content-type": isBytes ? "application/gzip" : "application/json",
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Readonly<Record<string, string>>;
  };
  const folder = join(world.folder, `configuration-${name}`);
  await mkdir(folder);
  await writeFile(join(folder, "main.tf"), MAIN);
  const archive = `${folder}.tar.gz`;
  await requireCommand(["tar", "-czf", archive, "-C", folder, "main.tf"]);
  await call("POST", "", { name });
  const bytes = Uint8Array.from(await readFile(archive));
  const { digest } = await call("POST", `/${name}/configurations`, bytes);
  const { id } = await call("POST", `/${name}/runs`, { configuration: digest, auto_apply: true });
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const { phase } = await call("GET", `/${name}/runs/${id}`);
    if (phase === "applied") return;
    assert.ok(performance.now() < deadline, `the run is ${phase}`);
    await delay(500, undefined, { signal: world.signal });
  }
}
