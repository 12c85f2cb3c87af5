import { execFile, spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Folder of the repository. */
const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** An image of a test. Disposing removes it. */
interface TestImage extends AsyncDisposable {
  readonly image: string;
  /** What its containers have to see of this machine. */
  readonly volumes: readonly string[];
}

/**
 * Makes an image of nothing but the Node of this process and a shell with their libraries, and a `stackwright` that is the command of this
 * repository: which needs no registry of images, and is made in a few seconds.
 */
export async function buildTestImage(docker: string, env: NodeJS.ProcessEnv): Promise<TestImage> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "image-"));
  const root = join(folder.path, "root");
  const put = async (source: string, path: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await copyFile(source, join(root, path));
  };
  // Programs of plug-ins are started by a shell, which ends them with their parent.
  await put(process.execPath, "bin/node");
  await put("/bin/sh", "bin/sh");
  for (const program of [process.execPath, "/bin/sh"]) {
    const { stdout } = await run("ldd", [program]);
    for (const [path] of stdout.matchAll(/\/\S+/g)) await put(path, path);
  }
  const program = join(root, "bin", "stackwright");
  const entry = JSON.stringify(join(ROOT, "apps/cli/bin/stackwright.mjs"));
  await writeFile(program, `#!/bin/node\nimport(${entry});\n`);
  await chmod(program, 0o755);
  const archive = join(folder.path, "root.tar");
  await run("tar", ["-c", "-f", archive, "-C", root, "."]);
  const image = `stackwright-test:${process.pid}`;
  const load = spawn(docker, ["import", "--change", "ENV PATH=/bin", "-", image], {
    env,
    stdio: ["pipe", "ignore", "pipe"],
  });
  let said = "";
  load.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => load.once("close", resolve));
  await pipeline(createReadStream(archive), load.stdin);
  if ((await ended) !== 0) throw new Error(`the image could not be made: ${said}`);
  return {
    image,
    volumes: [`${ROOT}:${ROOT}:ro`],
    [Symbol.asyncDispose]: async () => {
      await run(docker, ["rmi", "--force", image], { env });
    },
  };
}
