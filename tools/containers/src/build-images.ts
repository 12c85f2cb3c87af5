import { spawn } from "node:child_process";
import { mkdir, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { debianRoots } from "./debian-roots.ts";
import type { Docker } from "./docker.ts";
import { nodeRoots, STORE } from "./pnpm-root.ts";

/** Names of images. */
export interface Images {
  readonly postgres: string;
  readonly server: string;
  readonly worker: string;
  readonly functions: string;
  /** What the last three are built on. */
  readonly node: string;
  readonly build: string;
}

const nameOf = (image: string, tag: string) => `stackwright-${image}:${tag}`;

export function imagesOf(tag: string): Images {
  return {
    postgres: nameOf("postgres", tag),
    server: nameOf("server", tag),
    worker: nameOf("worker", tag),
    functions: nameOf("functions", tag),
    node: nameOf("base-node", tag),
    build: nameOf("base-build", tag),
  };
}

/** Takes images away again, those that they were built on as well. */
export async function removeImages(docker: Docker, tag: string): Promise<void> {
  const images = [...Object.values(imagesOf(tag)), nameOf("base-postgres", tag)];
  await docker.try(["rmi", "--force", ...images]);
}

/** What images are built of, and where. */
interface BuildOptions {
  readonly docker: Docker;
  /** Of the repository. */
  readonly root: string;
  /** Where systems and packages are kept between builds. */
  readonly cache: string;
  /** Behind the names of all images: `:tag`. */
  readonly tag: string;
  readonly say: (text: string) => void;
}

const LIMIT_MS = 20 * 60_000;

/**
 * Builds the images of `e2e/compose.yaml` without a registry of images and, apart from what is not in the cache yet,
 * without any network: the base images are systems made from packages of Debian, with the Node of the workspace.
 */
export async function buildImages(options: BuildOptions): Promise<Images> {
  const { docker, root, cache, tag, say } = options;
  await mkdir(cache, { recursive: true });
  const debian = await debianRoots(cache, say);
  const node = await nodeRoots(root, cache, say);
  const name = (image: string) => nameOf(image, tag);

  say("base images from these systems");
  await importRoot(docker, name("base-postgres"), debian.postgres);
  await importRoot(docker, name("base-node"), debian.base, { over: node.node });
  await importRoot(docker, name("base-build"), debian.base, {
    over: node.build,
    changes: [`ENV npm_config_offline=true npm_config_store_dir=${STORE}`],
  });

  const build = async (image: string, file: string, args: readonly string[]) => {
    say(`docker build: ${image}`);
    const words = ["build", "--network", "none", "--tag", name(image), "--file", join(root, file)];
    await docker.run([...words, ...args, root], {
      timeoutMs: LIMIT_MS,
      // BuildKit is a program of its own that may not be installed; both builders read these files.
      env: { ...docker.env, DOCKER_BUILDKIT: "0" },
    });
  };
  await build("postgres", "e2e/images/postgres.Dockerfile", [
    "--build-arg",
    `DEBIAN_IMAGE=${name("base-postgres")}`,
  ]);
  const bases = [
    "--build-arg",
    `NODE_IMAGE=${name("base-node")}`,
    "--build-arg",
    `BUILD_IMAGE=${name("base-build")}`,
  ];
  for (const target of ["functions", "worker", "server"]) {
    await build(target, "e2e/images/stackwright.Dockerfile", [...bases, "--target", target]);
  }
  return imagesOf(tag);
}

/** Makes an image of a system, with the files of another folder laid over it. */
async function importRoot(
  docker: Docker,
  image: string,
  system: string,
  { over, changes = [] }: { readonly over?: string; readonly changes?: readonly string[] } = {},
): Promise<void> {
  const words = ["import", ...changes.flatMap((change) => ["--change", change]), "-", image];
  // The engine takes no path twice, so of the second folder only what is no folder is named.
  const files = over === undefined ? [] : await filesBelow(over);
  const more = over === undefined ? [] : ["-C", over, "--null", "--files-from=-"];
  const tar = spawn("tar", ["-c", "-C", system, ".", ...more], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const load = spawn("docker", words, { env: docker.env, stdio: ["pipe", "ignore", "pipe"] });
  let said = "";
  load.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ends = [tar, load].map(
    async (child) => new Promise<number | null>((resolve) => child.once("close", resolve)),
  );
  tar.stdin.on("error", () => {});
  tar.stdin.end(files.map((file) => `${file}\0`).join(""));
  // Where one of the two ends early, its code and its words say more than the broken pipe.
  await pipeline(tar.stdout, load.stdin).catch(() => {});
  for (const code of await Promise.all(ends)) {
    if (code !== 0) throw new Error(`${image} could not be imported: ${said}`);
  }
}

/** Everything in a folder that is no folder itself, relative to it. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}
