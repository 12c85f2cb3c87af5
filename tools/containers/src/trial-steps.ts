import assert from "node:assert/strict";
import type { CommandResult } from "@stackwright-tools/processes";
import type { ComposeProject } from "./compose-project.ts";
import type { TrialWorld } from "./trial-world.ts";

/** One thing that has to hold, after all before it. */
export interface TrialStep {
  readonly name: string;
  readonly run: (world: TrialWorld) => Promise<void>;
}

const SERVICES = ["postgres", "functions", "server"];
const PAGE = "Stackwright in containers";

/** No root, a system that cannot be written, limits. */
export async function hardened(
  project: ComposeProject,
  services: readonly string[],
): Promise<void> {
  for (const service of services) {
    const state = await project.state(service);
    assert.ok(state.running, service);
    assert.ok(!["", "0", "root"].includes(state.user), `${service} runs as "${state.user}"`);
    assert.ok(state.readOnly && !state.canGainPrivileges, service);
    assert.equal(state.restartPolicy, "unless-stopped", service);
    assert.ok(state.memoryLimit > 0 && state.processLimit > 0, `${service} has no limits`);
    await assert.rejects(project.exec(service, "touch", "/etc/written"), /Read-only/);
  }
}

export function ended(result: CommandResult, code: number, text: RegExp): void {
  const said = `${result.stdout}${result.stderr}`;
  assert.equal(result.code, code, said);
  assert.match(said, text);
}

/** As `docs/compose.md` says, from nothing to a stack. */
export const STARTING: readonly TrialStep[] = [
  {
    name: "docs/compose.md leads to secrets, and to a file that compose takes without a word",
    run: async (world) => {
      ended(await world.follows(PAGE, 0), 0, /secrets and variables are in/);
      await world.setVariables();
      const { name, envFile, file } = world.running;
      const words = ["--project-name", name, "--env-file", envFile, "--file", file];
      const [program = "", ...more] = world.docker.composeCommand;
      const checked = await world.runs([program, ...more, ...words, "config", "--quiet"]);
      const { code, stdout, stderr } = checked;
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "", stderr: "" });
    },
  },
  {
    name: "docs/compose.md leads to services that are well",
    run: async (world) => {
      ended(await world.follows(PAGE, 1), 0, /./);
      await world.project.healthy(...SERVICES);
    },
  },
  {
    name: "docs/compose.md leads to a private provider, and to a stack that is deployed with it",
    run: async (world) => {
      ended(await world.follows(PAGE, 2), 0, /ipam 1.0.0 is registered[^]*4 added, 0 changed/);
      assert.deepEqual(await world.takenAddresses(), ["10.20.0.1", "10.20.0.2", "10.20.0.3"]);
    },
  },
];

/** What containers are, and what is left when they go. */
export const CONTAINERS: readonly TrialStep[] = [
  {
    name: "every service runs as an unprivileged user, has limits, and cannot write to its system",
    run: async ({ project }) => hardened(project, [...SERVICES, "machine"]),
  },
  {
    name: "no secret is in the environment or the arguments of a container, or in an image",
    run: async ({ project, docker, images }) => {
      const read = async (service: string, name: string) =>
        (await project.exec(service, "cat", `/run/secrets/${name}`)).trim();
      const password = await read("postgres", "postgres-password");
      assert.match(password, /^[0-9a-f]{40}$/);
      const { secretKey } = JSON.parse(await read("server", "platform-key.json")) as {
        readonly secretKey: string;
      };
      const secrets = [password, secretKey, await read("server", "server-key")];
      const list = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; true";
      const texts = new Map<string, string>();
      for (const service of SERVICES) {
        texts.set(service, await project.exec(service, "sh", "-c", list));
      }
      for (const image of [images.postgres, images.server, images.worker, images.functions]) {
        const history = await docker.run(["history", "--no-trunc", image]);
        texts.set(image, (await docker.run(["inspect", image])) + history);
      }
      for (const [where, text] of texts) {
        for (const secret of secrets) assert.ok(!text.includes(secret), where);
        assert.doesNotMatch(text, /(?:password|secret|token)(?!_file)\w*=\S/i, where);
      }
    },
  },
  {
    name: "without its database the server says so, and is well again with it",
    run: async (world) => {
      const { project } = world;
      const server = await world.server();
      await project.run("kill", "postgres");
      assert.equal(await server.readiness(), 503);
      const listed = await server.rfs("GET", "/v1/private-providers");
      assert.ok(listed.status >= 500, `${listed.status}`);
      assert.match(await listed.text(), /"error_code"/);
      ended(
        await world.stackwright(server.credentials, "plan"),
        1,
        /the database of the store cannot be reached/,
      );
      assert.ok((await project.state("server")).running);
      await project.run("start", "postgres");
      await project.healthy("postgres", "server");
      assert.equal((await server.rfs("GET", "/v1/private-providers")).status, 200);
      await nothingToDo(world);
    },
  },
  {
    name: "what is deployed outlives a stop and a start, as docs/compose.md does them",
    run: async (world) => {
      ended(await world.follows("Stop and start", 0), 0, /./);
      await world.project.healthy(...SERVICES);
      await nothingToDo(world);
    },
  },
  {
    name: "what is deployed outlives every container, as docs/compose.md takes them away",
    run: async (world) => {
      ended(await world.follows("Stop and start", 1), 0, /./);
      await world.project.healthy(...SERVICES);
      await nothingToDo(world);
    },
  },
];

/** The end. */
export const ENDING: readonly TrialStep[] = [
  {
    name: "the stack and the provider are taken away",
    run: async (world) => {
      const server = await world.server();
      const destroyed = await world.stackwright(server.credentials, "destroy", "--yes");
      ended(destroyed, 0, /4 destroyed/);
      assert.deepEqual(await world.takenAddresses(), []);
      const gone = await server.rfs("DELETE", "/v1/private-providers/ipam");
      assert.equal(gone.status, 204, await gone.text());
    },
  },
  {
    name: "nothing is left after docs/compose.md has removed everything",
    run: async (world) => {
      ended(await world.follows("Stop and start", 2), 0, /./);
      const { name } = world.running;
      const filter = ["--filter", `label=com.docker.compose.project=${name}`, "--quiet"];
      for (const words of [
        ["ps", "--all"],
        ["network", "ls"],
        ["volume", "ls"],
      ]) {
        assert.equal(await world.docker.run([...words, ...filter]), "", words.join(" "));
      }
    },
  },
];

async function nothingToDo(world: TrialWorld): Promise<void> {
  const { credentials } = await world.server();
  ended(await world.stackwright(credentials, "plan", "--detailed-exitcode"), 0, /./);
}
