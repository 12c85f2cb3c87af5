import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "@stackwright-tools/processes";
import { buildImages, removeImages } from "./build-images.ts";
import { ensurePrograms } from "./debian-packages.ts";
import { debianRoots } from "./debian-roots.ts";
import type { Docker } from "./docker.ts";
import { failureText } from "./failure-text.ts";
import { tryFunctionImage } from "./function-image.ts";
import { openEngine } from "./open-engine.ts";
import { PackagesMissing } from "./pnpm-root.ts";
import { TEAM_ENDING, TEAM_STARTING } from "./team-steps.ts";
import { CONTAINERS, ENDING, STARTING, type TrialStep } from "./trial-steps.ts";
import { TrialWorld } from "./trial-world.ts";

/** What came of it: steps that held, and one line each for what did not, or could not be tried. */
interface TrialReport {
  readonly passed: number;
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
}

interface TrialOptions {
  /** Of the repository. */
  readonly root: string;
  readonly cache: string;
  /** Images that were built before, of an engine that runs; without it they are built, and removed at the end. */
  readonly tag?: string | undefined;
  /** Files for what vitest says of the scenarios, with one server and with the team. */
  readonly scenariosReport?: string | undefined;
  readonly teamReport?: string | undefined;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Builds the images where no image can be pulled, starts `e2e/compose.yaml` with them as its page says, goes through the steps
 * and the scenarios, and takes everything away again: containers, networks, volumes, images, and the engine where it is ours.
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
    if (!(error instanceof PackagesMissing)) {
      say(failureText(error));
      return { passed: 0, failed: ["the images could not be built"], skipped: [] };
    }
    return skip(`${error.message}: ${(error.cause as Error).message}`);
  }
  say(`images after ${Math.round((performance.now() - start) / 1000)} s`);
  say(await docker.run(["images", "--format", "{{.Repository}} {{.Size}}"]));
  return await goThrough(options, resources, docker, tag);
}

async function goThrough(
  { root, say, signal, scenariosReport, teamReport }: TrialOptions,
  resources: AsyncDisposableStack,
  docker: Docker,
  tag: string,
): Promise<TrialReport> {
  const world = resources.use(await TrialWorld.make({ docker, root, tag, signal }));
  const { project, images, folder } = world;
  const steps: readonly TrialStep[] = [
    ...STARTING,
    ...CONTAINERS,
    {
      name: "the scenarios of the main job, which plain processes go through as well",
      run: async () => runScenarios(world, "main-job", scenariosReport),
    },
    ...TEAM_STARTING,
    {
      name: "the scenarios of the server, with two servers and two workers",
      run: async () => runScenarios(world, "server", teamReport),
    },
    ...TEAM_ENDING,
    ...ENDING,
  ];
  let passed = 0;
  for (const { name, run } of steps) {
    const start = performance.now();
    try {
      await run(world);
    } catch (error) {
      say(await project.run("logs", "--no-color", "--tail", "25").catch(String));
      say(failureText(error));
      const left = steps.length - passed - 1;
      return { passed, failed: [`${name} (${left} steps after it were not tried)`], skipped: [] };
    }
    passed += 1;
    say(`held, ${((performance.now() - start) / 1000).toFixed(1)} s: ${name}`);
  }
  const why = await tryFunctionImage({
    docker,
    root,
    folder,
    functionsImage: images.functions,
    tag: `${process.pid}`,
    signal,
  });
  if (why !== undefined) return { passed, failed: [], skipped: [`compose: ${why}`] };
  say("held: the image of a single function answers for a provider that was built with Go");
  return { passed: passed + 1, failed: [], skipped: [] };
}

/** The scenarios of a folder, with the project as their environment; vitest says how they go. */
async function runScenarios(
  { root, folder, running, signal }: TrialWorld,
  scenarios: "main-job" | "server",
  report: string | undefined,
): Promise<void> {
  const file = join(folder, "running.json");
  await writeFile(file, JSON.stringify(running));
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const words = ["run", "--config", "vitest.live.config.ts", "--project", "e2e"];
  const { code } = await runCommand(
    [process.execPath, vitest, ...words, `src/scenarios/${scenarios}`],
    {
      cwd: root,
      timeoutMs: 15 * 60_000,
      signal,
      show: "all",
      env: {
        ...process.env,
        E2E_ENVIRONMENT: "compose",
        E2E_COMPOSE: file,
        ...(report !== undefined && { STACKWRIGHT_REPORT: report }),
      },
    },
  );
  if (code !== 0) throw new Error(`vitest ended with code ${code}`);
}
