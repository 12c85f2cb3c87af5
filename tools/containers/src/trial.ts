import { mkdir, mkdtempDisposable } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImages, type Images } from "./build-images.ts";
import { ComposeProject } from "./compose-project.ts";
import { ensurePrograms } from "./debian-packages.ts";
import { openEngine } from "./open-engine.ts";
import { type Ports, prepare } from "./prepare.ts";
import { TRIAL_STEPS } from "./trial-steps.ts";
import { TrialWorld } from "./trial-world.ts";

/** What came of it: steps that held, and one line each for what did not, or could not be tried. */
export interface TrialReport {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

export interface TrialOptions {
  /** Of the repository. */
  readonly root: string;
  readonly cache: string;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds the images where no image can be pulled, starts `e2e/compose.yaml` with them, goes through the steps and takes
 * everything away again: containers, networks, volumes, images, and the engine where it is ours.
 */
export async function tryCompose(options: TrialOptions): Promise<TrialReport> {
  const { root, cache, say, signal } = options;
  const skip = (why: string) => ({ passed: 0, failed: [], skipped: [`compose: ${why}`] });
  if (process.getuid?.() !== 0) return skip("base images are made with debootstrap, by root alone");
  await using resources = new AsyncDisposableStack();
  const engine = await openEngine(say);
  if (typeof engine === "string") return skip(engine);
  resources.use(engine);
  const missing = await ensurePrograms(["debootstrap"], say);
  if (missing !== undefined) return skip(missing);

  const { docker } = engine;
  const tag = `trial-${process.pid}`;
  const start = performance.now();
  if (!engine.isOurs) {
    resources.defer(async () => {
      const names = ["base-postgres", "base-node", "base-build", "postgres", "functions", "server"];
      await docker.try(["rmi", "--force", ...names.map((name) => `stackwright-${name}:${tag}`)]);
    });
  }
  const images = await buildImages({ docker, root, cache, tag, say });
  const seconds = Math.round((performance.now() - start) / 1000);
  say(`images after ${seconds} s`);
  say(await docker.run(["images", "--format", "{{.Repository}} {{.Size}}"]));
  return await goThrough({ ...options, signal }, resources, docker, images, tag);
}

async function goThrough(
  { root, say, signal }: TrialOptions,
  resources: AsyncDisposableStack,
  docker: ConstructorParameters<typeof ComposeProject>[0]["docker"],
  images: Images,
  tag: string,
): Promise<TrialReport> {
  const scratch = resources.use(await mkdtempDisposable(join(tmpdir(), "stackwright-compose-")));
  const secrets = join(scratch.path, "secrets");
  await mkdir(secrets);
  const [server = 0, storage = 0, functions = 0] = await freePorts(3);
  const ports: Ports = { server, storage, functions };
  await prepare({
    directory: secrets,
    ports,
    region: "local",
    projects: ["a61dfe3154de42829367056598d5040f"],
    variables: {
      STACKWRIGHT_POSTGRES_IMAGE: images.postgres,
      STACKWRIGHT_SERVER_IMAGE: images.server,
      STACKWRIGHT_FUNCTIONS_IMAGE: images.functions,
    },
  });
  const project = resources.use(
    new ComposeProject({
      docker,
      name: `stackwright-${tag}`,
      file: join(root, "e2e/compose.yaml"),
      envFile: join(secrets, "env"),
      signal,
    }),
  );
  await project.run("up", "--detach", "--no-build");
  const folder = join(scratch.path, "work");
  const world = new TrialWorld({ project, ports, root, folder, secrets, signal });
  let passed = 0;
  for (const { name, run } of TRIAL_STEPS) {
    const start = performance.now();
    try {
      await run(world);
    } catch (error) {
      say(await project.run("logs", "--no-color", "--tail", "60").catch(String));
      say(error instanceof Error ? (error.stack ?? error.message) : String(error));
      const left = TRIAL_STEPS.length - passed - 1;
      return { passed, failed: [`${name} (${left} steps after it were not tried)`], skipped: [] };
    }
    passed += 1;
    say(`held, ${((performance.now() - start) / 1000).toFixed(1)} s: ${name}`);
  }
  return { passed, failed: [], skipped: [] };
}

/** That many ports of this machine which were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(
    servers.map(async (server) => new Promise((listens) => server.once("listening", listens))),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map(async (server) => new Promise((closed) => server.close(closed))));
  return ports;
}
