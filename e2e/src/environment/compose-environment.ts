import { chown, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type BootstrapCredentials,
  ComposeProject,
  Docker,
  type RunningProject,
  ServerClient,
} from "@stackwright-tools/containers";
import { waitFor } from "../testing/wait-for.ts";
import type { Environment } from "./environment.ts";
import { urnOf } from "./functions.ts";
import { initRepository } from "./init-repository.ts";

const FIRST = "/var/lib/stackwright/first-credentials.json";
const NOTES = "/var/lib/stackwright/notes";
/** What the servers see of the folder of repositories, and who they are. */
const REPOSITORIES = "file:///srv/repositories";
const SERVER_USER = 10_001;

/**
 * The project of `e2e/compose.yaml` that `tools/containers` has started with the functions of the scenarios. It outlives
 * this: several files of scenarios use it one after the other, so disposing ends nothing.
 */
export async function openComposeEnvironment(): Promise<Environment> {
  const path = process.env["E2E_COMPOSE"];
  if (path === undefined) {
    throw new Error("E2E_COMPOSE names no project that runs: start this with pnpm e2e --compose");
  }
  const { dockerHost, secrets, ports, ...where } = JSON.parse(
    await readFile(path, "utf8"),
  ) as RunningProject;
  const docker = await Docker.find({
    ...process.env,
    ...(dockerHost !== undefined && { DOCKER_HOST: dockerHost }),
  });
  if (typeof docker === "string") throw new Error(docker);
  // What came up is not taken down here.
  const project = new ComposeProject({ docker, ...where, signal: new AbortController().signal });
  await project.healthy("server", "functions");
  const first = JSON.parse(await project.exec("server", "cat", FIRST)) as BootstrapCredentials;
  return {
    kind: "compose",
    server: new ServerClient(`http://127.0.0.1:${ports.server}`, first),
    store: `stackwright://127.0.0.1:${ports.storage}`,
    functionsTable: join(secrets, "functions-table.json"),
    urnOf: (release) => urnOf(`notes-v${release}`),
    notes: async () => {
      const list = `[ ! -d ${NOTES} ] || ls ${NOTES}`;
      const text = await project.exec("functions", "sh", "-c", list);
      return text.split("\n").filter((line) => line !== "");
    },
    readNote: async (name) => project.exec("functions", "cat", `${NOTES}/${name}`),
    changeNote: async (name, text) => {
      const write = `[ -f "${NOTES}/$1" ] && printf %s "$2" > "${NOTES}/$1"`;
      await project.exec("functions", "sh", "-c", write, "sh", name, text);
    },
    makeRepository: async (name) => {
      const folder = join(secrets, "repositories", `${name}.git`);
      await initRepository(folder);
      // Git reads only repositories of the user who it runs as.
      await chown(folder, SERVER_USER, SERVER_USER);
      return { folder, address: `${REPOSITORIES}/${name}.git` };
    },
    stop: async (service) => {
      await project.run("stop", "--timeout", "20", service);
      const { running, exitCode } = await project.state(service);
      if (running || exitCode !== 0) throw new Error(`the ${service} ended with ${exitCode}`);
    },
    kill: async (service) => {
      await project.run("kill", service);
    },
    start: async (service) => {
      await project.run("start", service);
      await project.healthy(service);
    },
    crash: async (service) => {
      const { pid, restarts } = await project.state(service);
      process.kill(pid, "SIGKILL");
      await waitFor(
        `the engine to start the ${service} again`,
        async () => (await project.state(service)).restarts !== restarts,
      );
      await project.healthy(service);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
