import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { debianRoots } from "./debian-roots.ts";
import type { Docker } from "./docker.ts";
import { nodeRoots, STORE } from "./pnpm-root.ts";

/** Names of images. */
export interface Images {
  readonly postgres: string;
  readonly server: string;
  readonly functions: string;
}

export interface BuildOptions {
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
  const name = (image: string) => `stackwright-${image}:${tag}`;

  say("base images from these systems");
  await importRoots(docker, name("base-postgres"), [debian.postgres]);
  await importRoots(docker, name("base-node"), [debian.base, node.node]);
  await importRoots(
    docker,
    name("base-build"),
    [debian.base, node.build],
    [`ENV npm_config_offline=true npm_config_store_dir=${STORE}`],
  );

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
  for (const target of ["functions", "server"]) {
    await build(target, "e2e/images/stackwright.Dockerfile", [...bases, "--target", target]);
  }
  return { postgres: name("postgres"), server: name("server"), functions: name("functions") };
}

/** Makes an image of folders that are laid one over the other. */
async function importRoots(
  docker: Docker,
  image: string,
  folders: readonly string[],
  changes: readonly string[] = [],
): Promise<void> {
  const words = ["import", ...changes.flatMap((change) => ["--change", change]), "-", image];
  const tar = spawn("tar", ["-c", ...folders.flatMap((folder) => ["-C", folder, "."])], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const load = spawn("docker", words, { env: docker.env, stdio: ["pipe", "ignore", "inherit"] });
  const ends = [tar, load].map(
    async (child) => new Promise<number | null>((resolve) => child.once("exit", resolve)),
  );
  await pipeline(tar.stdout, load.stdin);
  for (const code of await Promise.all(ends)) {
    if (code !== 0) throw new Error(`${image} could not be imported`);
  }
}
