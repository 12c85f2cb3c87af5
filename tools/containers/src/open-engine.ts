import { ensurePrograms } from "./debian-packages.ts";
import { Docker } from "./docker.ts";
import { DockerDaemon } from "./docker-daemon.ts";

/** A Docker engine that can be used. Disposing ends it where it is our own. */
interface OpenEngine extends AsyncDisposable {
  readonly docker: Docker;
  /** Whether it was started for us, with nothing in it, and goes with everything in it. */
  readonly isOurs: boolean;
}

/**
 * The engine that runs already; else one of our own, installed where that can be done. A text says in a few words why
 * there is none.
 */
export async function openEngine(say: (text: string) => void): Promise<OpenEngine | string> {
  const running = await Docker.find(process.env);
  if (typeof running !== "string") return borrowed(running);
  if (process.platform !== "linux") return running;
  const missing = await ensurePrograms(["docker", "dockerd", "docker-compose"], say);
  if (missing !== undefined) return `${running}; ${missing}`;
  // The package may have started one.
  const installed = await Docker.find(process.env);
  if (typeof installed !== "string") return borrowed(installed);
  if (process.getuid?.() !== 0) return `${installed}, and only root can start one`;
  say("starting a Docker engine that keeps nothing");
  let daemon: DockerDaemon;
  try {
    daemon = await DockerDaemon.start();
  } catch (error) {
    return (error as Error).message;
  }
  const docker = await Docker.find({ ...process.env, DOCKER_HOST: daemon.host });
  if (typeof docker !== "string") {
    return {
      docker,
      isOurs: true,
      [Symbol.asyncDispose]: async () => daemon[Symbol.asyncDispose](),
    };
  }
  await daemon[Symbol.asyncDispose]();
  return docker;
}

function borrowed(docker: Docker): OpenEngine {
  return { docker, isOurs: false, [Symbol.asyncDispose]: async () => undefined };
}
