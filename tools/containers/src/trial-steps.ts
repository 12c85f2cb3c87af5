import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { RunResult } from "./run-command.ts";
import type { TrialWorld } from "./trial-world.ts";

/** One thing that has to hold, after all before it. */
export interface TrialStep {
  readonly name: string;
  readonly run: (world: TrialWorld) => Promise<void>;
}

const URN = "urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:ipam:latest";
const SERVICES = ["postgres", "functions", "server"];

function ended(result: RunResult, code: number, text: RegExp): void {
  const said = `${result.stdout}${result.stderr}`;
  assert.equal(result.code, code, said);
  assert.match(said, text);
}

/** How the server answers a request for its readiness. */
async function readiness(world: TrialWorld): Promise<number> {
  return (await fetch(`${world.url}/readyz`, { signal: AbortSignal.timeout(10_000) })).status;
}

/** Private providers from their registration to their end, with a database and a server that die in between. */
export const TRIAL_STEPS: readonly TrialStep[] = [
  {
    name: "every service is healthy, runs as nobody in particular and cannot write to its system",
    run: async ({ project }) => {
      await project.healthy(...SERVICES);
      for (const service of [...SERVICES, "machine"]) {
        const { user, readOnly, running } = await project.state(service);
        assert.ok(running, service);
        assert.ok(!["", "0", "root"].includes(user), `${service} runs as "${user}"`);
        assert.ok(readOnly, service);
        await assert.rejects(project.exec(service, "touch", "/etc/written"), /Read-only/);
      }
    },
  },
  {
    name: "no secret is in the environment or the arguments of a container",
    run: async ({ project }) => {
      const secret = (
        await project.exec("postgres", "cat", "/run/secrets/postgres-password")
      ).trim();
      assert.match(secret, /^[0-9a-f]{40}$/);
      for (const service of SERVICES) {
        const told = await project.exec(
          service,
          "sh",
          "-c",
          "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; true",
        );
        assert.ok(!told.includes(secret), service);
      }
    },
  },
  {
    name: "a private provider is published through the RFS API",
    run: async (world) => {
      const made = await world.rfs("POST", "/v1/private-providers", {
        provider_name: "ipam",
        provider_version: "1.0.0",
        function_graph_urn: URN,
      });
      assert.equal(made.status, 201, await made.text());
    },
  },
  {
    name: "a stack is deployed with it through the store of the server",
    run: async (world) => {
      await world.makeStack();
      ended(await world.stackwright("up", "--yes"), 0, /4 added, 0 changed, 0 destroyed/);
      assert.deepEqual(await world.takenAddresses(), ["10.20.0.1", "10.20.0.2", "10.20.0.3"]);
    },
  },
  {
    name: "the server stops in order when it is told to, and knows everything when it is back",
    run: async (world) => {
      const { project } = world;
      await project.run("stop", "--timeout", "20", "server");
      const { running, exitCode } = await project.state("server");
      assert.deepEqual({ running, exitCode }, { running: false, exitCode: 0 });
      await project.run("start", "server");
      await project.healthy("server");
      ended(await world.stackwright("plan", "--detailed-exitcode"), 0, /./);
    },
  },
  {
    name: "a server that is killed comes back by itself",
    run: async (world) => {
      const { project } = world;
      const { pid, restarts } = await project.state("server");
      process.kill(pid, "SIGKILL");
      for (let tries = 0; (await project.state("server")).restarts === restarts; tries += 1) {
        assert.ok(tries < 60, "the server was not started again");
        await delay(500);
      }
      await project.healthy("server");
      const change = ["-var", 'hosts=["db-1","web-1"]'];
      const updated = await world.stackwright("up", "--yes", ...change);
      ended(updated, 0, /0 added, 1 changed, 1 destroyed/);
      assert.equal((await world.takenAddresses()).length, 2);
      ended(await world.stackwright("up", "--yes"), 0, /1 added, 1 changed, 0 destroyed/);
    },
  },
  {
    name: "without its database the server says so, and is well again with it",
    run: async (world) => {
      const { project } = world;
      await project.run("kill", "postgres");
      assert.equal(await readiness(world), 503);
      const listed = await world.rfs("GET", "/v1/private-providers");
      assert.ok(listed.status >= 500, `${listed.status}`);
      assert.match(await listed.text(), /"error_code"/);
      ended(await world.stackwright("plan"), 1, /the database of the store cannot be reached/);
      assert.ok((await project.state("server")).running);
      await project.run("start", "postgres");
      await project.healthy("postgres", "server");
      assert.equal((await world.rfs("GET", "/v1/private-providers")).status, 200);
      ended(await world.stackwright("plan", "--detailed-exitcode"), 0, /./);
    },
  },
  {
    name: "without its function a stack is not planned, and is again with it",
    run: async (world) => {
      const { project } = world;
      await project.run("kill", "functions");
      // What answers here may be the engine, which publishes a port that nobody listens to.
      ended(await world.stackwright("plan"), 1, /Provider not available[^]*ipam@1\.0\.0 cannot be/);
      await project.run("start", "functions");
      await project.healthy("functions");
      ended(await world.stackwright("plan", "--detailed-exitcode"), 0, /./);
    },
  },
  {
    name: "what is deployed outlives every container",
    run: async (world) => {
      const { project } = world;
      await project.run("down", "--timeout", "20");
      await project.run("up", "--detach", "--no-build");
      await project.healthy(...SERVICES);
      ended(await world.stackwright("plan", "--detailed-exitcode"), 0, /./);
    },
  },
  {
    name: "the stack and the provider are taken away",
    run: async (world) => {
      ended(await world.stackwright("destroy", "--yes"), 0, /4 destroyed/);
      assert.deepEqual(await world.takenAddresses(), []);
      const gone = await world.rfs("DELETE", "/v1/private-providers/ipam");
      assert.equal(gone.status, 204, await gone.text());
    },
  },
];
