import { spawn } from "node:child_process";
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  mkdtemp,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { requireCommand, runCommand } from "@stackwright-tools/processes";
import { debianRoots } from "./debian-roots.ts";

/** What a fresh system is made of. */
interface FreshSystemOptions {
  /** Of the repository; its last commit is what is cloned. */
  readonly root: string;
  readonly cache: string;
  readonly say: (text: string) => void;
}

/** Home of who runs everything, and the clone, in a path with spaces. */
const HOME = "/home/newcomer";
const CLONE = `${HOME}/my first clone`;
const UID = 1000;

/**
 * A system of Debian with nothing but Node, npm and a clone of the repository, for a user who is not root and whose
 * caches are empty. Disposing removes it with all that runs in it. Needs root and `debootstrap`.
 */
export class FreshSystem implements AsyncDisposable {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async make({ root, cache, say }: FreshSystemOptions): Promise<FreshSystem> {
    await mkdir(cache, { recursive: true });
    const { base } = await debianRoots(cache, say);
    const made = await mkdtemp(join(tmpdir(), "stackwright-fresh-"));
    await requireCommand(["cp", "-a", "--reflink=auto", `${base}/.`, made]);
    await installNode(made);
    await copyTrust(made);
    await addHostsAndMemory(made);
    await appendFile(join(made, "etc/passwd"), `newcomer:x:${UID}:${UID}::${HOME}:/bin/sh\n`);
    await appendFile(join(made, "etc/group"), `newcomer:x:${UID}:\n`);
    await mkdir(join(made, HOME), { recursive: true });
    await requireCommand(["git", "clone", "--quiet", "--no-local", root, join(made, CLONE)], {
      timeoutMs: 120_000,
    });
    await requireCommand(["chown", "-R", `${UID}:${UID}`, join(made, HOME)]);
    return new FreshSystem(made);
  }

  /** Runs a command in the clone, in name spaces of its own that end with it. Its output is shown. */
  async run(command: string, timeoutMs: number): Promise<{ code: number; seconds: number }> {
    const start = performance.now();
    const namespaces = "--mount --pid --fork --kill-child".split(" ");
    const words = [
      ...namespaces,
      `--mount-proc=${join(this.#root, "proc")}`,
      "chroot",
      `--userspec=${UID}:${UID}`,
      this.#root,
      "/usr/bin/env",
      "--ignore-environment",
      `HOME=${HOME}`,
      "USER=newcomer",
      "LANG=C.UTF-8",
      "TERM=dumb",
      "PATH=/usr/local/bin:/usr/bin:/bin",
      ...networkVariables(),
      "sh",
      "-c",
      `cd "${CLONE}" && exec ${command}`,
    ];
    const child = spawn("unshare", words, { stdio: ["ignore", "inherit", "inherit"] });
    const late = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    const code = await new Promise<number>((resolve) => {
      child.once("exit", (ended) => resolve(ended ?? -1));
    });
    clearTimeout(late);
    return { code, seconds: (performance.now() - start) / 1000 };
  }

  /** Megabytes of the clone, and of what else is in the home now: caches. */
  async megabytes(): Promise<{ readonly clone: number; readonly home: number }> {
    const size = async (path: string) =>
      Number.parseInt(
        await requireCommand(["du", "--summarize", "--block-size=1M", join(this.#root, path)]),
        10,
      );
    const clone = await size(CLONE);
    return { clone, home: (await size(HOME)) - clone };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

/** The machine's own Node and npm, as a user has them who installed nothing else: not those of the workspace. */
async function installNode(root: string): Promise<void> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder.includes("node_modules")) continue;
    const npm = await realpath(join(folder, "npm")).catch(() => undefined);
    const node = await realpath(join(folder, "node")).catch(() => undefined);
    if (npm === undefined || node === undefined) continue;
    const { code } = await runCommand([node, "--version"]);
    if (code !== 0) continue;
    const programs = join(root, "usr/local/bin");
    const modules = join(root, "usr/local/lib/node_modules");
    await mkdir(modules, { recursive: true });
    await cp(node, join(programs, "node"));
    await cp(dirname(dirname(npm)), join(modules, "npm"), { recursive: true });
    for (const name of ["npm", "npx"]) {
      await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(programs, name));
    }
    return;
  }
  throw new Error("there is no Node with npm in the path, apart from that of the workspace");
}

/** What every machine has and a tree of packages has not: its own name, and a folder in memory for all users. */
async function addHostsAndMemory(root: string): Promise<void> {
  await writeFile(join(root, "etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n");
  const memory = join(root, "dev/shm");
  await mkdir(memory, { recursive: true });
  await chmod(memory, 0o1777);
}

/** Variables and files with which this machine reaches the network. */
const TRUST = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"];

function networkVariables(): string[] {
  return Object.entries(process.env)
    .filter(([name]) => TRUST.includes(name) || /^(https?|no)_proxy$/i.test(name))
    .map(([name, value]) => `${name}=${value}`);
}

async function copyTrust(root: string): Promise<void> {
  const files = ["/etc/resolv.conf", ...TRUST.map((name) => process.env[name] ?? "")];
  for (const file of files.filter((path) => path !== "")) {
    await mkdir(join(root, dirname(file)), { recursive: true });
    await cp(await realpath(file), join(root, file), { force: true });
  }
}
