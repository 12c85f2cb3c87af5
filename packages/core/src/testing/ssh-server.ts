import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";

/** A server of OpenSSH on loopback that accepts one key. */
export interface SshServer extends AsyncDisposable {
  readonly port: number;
  readonly user: string;
  readonly privateKey: string;
  /** Public key of the host, as in `known_hosts` without the name. */
  readonly hostKey: string;
  /** A user with a password; undefined where the tests cannot make one. */
  readonly passwordUser: { readonly user: string; readonly password: string } | undefined;
}

/** The server program: `TEST_SSHD`, or that of the system. Undefined where none can run. */
export function findSshServer(): string | undefined {
  if (isRoot() && !hasNamespaces()) return undefined;
  return [process.env.TEST_SSHD, "/usr/sbin/sshd"].find(
    (path) => path !== undefined && existsSync(path),
  );
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function hasNamespaces(): boolean {
  return spawnSync("unshare", ["-m", "true"]).status === 0;
}

const PASSWORD_USER = { user: "provisioned", password: "correct horse" };

/**
 * The command line of a server. That of root alone sees a table of users with the one that it gives its rights up to, and
 * one with a password.
 */
async function commandLine(
  folder: string,
  program: string,
): Promise<readonly [string, ...string[]]> {
  const words = [program, "-D", "-e", "-f", join(folder, "config")] as const;
  if (!isRoot()) return words;
  mkdirSync("/run/sshd", { recursive: true });
  const { user, password } = PASSWORD_USER;
  const hash = execFileSync("openssl", ["passwd", "-6", password], { encoding: "utf8" }).trim();
  const tables = {
    passwd: `sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n${user}:x:0:0::/root:/bin/sh\n`,
    shadow: `${user}:${hash}:19000:0:99999:7:::\n`,
  };
  for (const [name, lines] of Object.entries(tables)) {
    const own = await readFile(`/etc/${name}`, "utf8");
    await writeFile(join(folder, name), lines + own, { mode: 0o600 });
  }
  const script =
    'cd "$1" && mount --bind passwd /etc/passwd && mount --bind shadow /etc/shadow && shift && exec "$@"';
  return ["unshare", "-m", "sh", "-c", script, "sh", folder, ...words];
}

/** Starts a server with keys of its own. */
export async function startSshServer(program: string): Promise<SshServer> {
  const folder = await mkdtemp(join(tmpdir(), "sshd-"));
  const makeKey = (name: string): void => {
    const path = join(folder, name);
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path]);
  };
  makeKey("host");
  makeKey("user");
  const port = await freePort();
  const user = userInfo().username;
  const lines = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${join(folder, "host")}`,
    `AuthorizedKeysFile ${join(folder, "user.pub")}`,
    `PidFile ${join(folder, "pid")}`,
    "StrictModes no",
    "UsePAM no",
    "PermitRootLogin yes",
    `PasswordAuthentication ${isRoot() ? "yes" : "no"}`,
    "Subsystem sftp internal-sftp",
  ];
  await writeFile(join(folder, "config"), `${lines.join("\n")}\n`);
  // An extracted package has its libraries beside it.
  const libraries = execFileSync(
    "sh",
    ["-c", 'ls -d "$1"/../lib/*-linux-gnu || true', "sh", dirname(program)],
    {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    },
  ).trim();
  const [command, ...words] = await commandLine(folder, program);
  const child = spawn(command, words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env.PATH, LD_LIBRARY_PATH: libraries.split("\n").join(":") },
  });
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  const ended = once(child, "exit");
  await reachable(port, () => {
    if (child.exitCode !== null) throw new Error(`sshd ended: ${said}`);
  });
  const publicKey = await readFile(join(folder, "host.pub"), "utf8");
  return {
    port,
    user,
    privateKey: await readFile(join(folder, "user"), "utf8"),
    hostKey: publicKey.split(" ").slice(0, 2).join(" "),
    passwordUser: isRoot() ? PASSWORD_USER : undefined,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const closed = once(server, "close");
  server.close();
  await closed;
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function reachable(port: number, check: () => void): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    check();
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on port ${port}`);
}
