import { mkdir, mkdtempDisposable } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildImages, imagesOf, removeImages } from "./build-images.ts";
import { ComposeProject } from "./compose-project.ts";
import { ensurePrograms } from "./debian-packages.ts";
import { debianRoots } from "./debian-roots.ts";
import type { Docker } from "./docker.ts";
import { tryFunctionImage } from "./function-image.ts";
import { openEngine } from "./open-engine.ts";
import { PackagesMissing } from "./pnpm-root.ts";
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
  /** Images that were built before, of an engine that runs; without it they are built, and removed at the end. */
  readonly tag?: string | undefined;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds the images where no image can be pulled, starts `e2e/compose.yaml` with them, goes through the steps and takes
 * everything away again: containers, networks, volumes, images, and the engine where it is ours.
 */
export async function tryCompose(options: TrialOptions): Promise<TrialReport> {
  const { root, cache, say } = options;
  const skip = (why: string) => ({ passed: 0, failed: [], skipped: [`compose: ${why}`] });
  if (process.getuid?.() !== 0) return skip("base images are made with debootstrap, by root alone");
  await using resources = new AsyncDisposableStack();
  const engine = await openEngine(say);
  if (typeof engine === "string") return skip(engine);
  resources.use(engine);
  const { docker } = engine;
  if (options.tag !== undefined) return await goThrough(options, resources, docker, options.tag);

  const missing = await ensurePrograms(["debootstrap"], say);
  if (missing !== undefined) return skip(missing);
  const tag = `trial-${process.pid}`;
  if (!engine.isOurs) resources.defer(async () => removeImages(docker, tag));
  const start = performance.now();
  try {
    await debianRoots(cache, say);
  } catch (error) {
    return skip(`no system could be made: ${(error as Error).message}`);
  }
  try {
    await buildImages({ docker, root, cache, tag, say });
  } catch (error) {
    if (!(error instanceof PackagesMissing)) throw error;
    return skip(`${error.message}: ${(error.cause as Error).message}`);
  }
  say(`images after ${Math.round((performance.now() - start) / 1000)} s`);
  say(await docker.run(["images", "--format", "{{.Repository}} {{.Size}}"]));
  return await goThrough(options, resources, docker, tag);
}

async function goThrough(
  { root, say, signal }: TrialOptions,
  resources: AsyncDisposableStack,
  docker: Docker,
  tag: string,
): Promise<TrialReport> {
  const images = imagesOf(tag);
  const name = `stackwright-${process.pid}`;
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
      name,
      file: join(root, "e2e/compose.yaml"),
      envFile: join(secrets, "env"),
      signal,
    }),
  );
  try {
    await project.run("up", "--detach", "--no-build");
  } catch (error) {
    say(await project.run("logs", "--no-color", "--tail", "25").catch(String));
    throw error;
  }
  const folder = join(scratch.path, "work");
  const world = new TrialWorld({ project, ports, root, folder, secrets, signal });
  let passed = 0;
  for (const { name, run } of TRIAL_STEPS) {
    const start = performance.now();
    try {
      await run(world);
    } catch (error) {
      say(await project.run("logs", "--no-color", "--tail", "25").catch(String));
      say(error instanceof Error ? (error.stack ?? error.message) : String(error));
      const left = TRIAL_STEPS.length - passed - 1;
      return { passed, failed: [`${name} (${left} steps after it were not tried)`], skipped: [] };
    }
    passed += 1;
    say(`held, ${((performance.now() - start) / 1000).toFixed(1)} s: ${name}`);
  }
  const why = await tryFunctionImage({
    docker,
    root,
    folder: scratch.path,
    functionsImage: images.functions,
    tag: `${process.pid}`,
    signal,
  });
  if (why !== undefined) return { passed, failed: [], skipped: [`compose: ${why}`] };
  say("held: the image of a single function answers for a provider that was built with Go");
  return { passed: passed + 1, failed: [], skipped: [] };
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
