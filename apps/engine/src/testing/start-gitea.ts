import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";

const run = promisify(execFile);

/** The program of a Gitea server, and a PostgreSQL that has its database. It takes many minutes to build, so no suite builds it. */
export function giteaProgram(env = process.env) {
  const { TEST_TOOL_GITEA: program, TEST_POSTGRES_URL: url, TEST_POSTGRES_BIN: bin } = env;
  if (program === undefined || url === undefined || bin === undefined) return undefined;
  return { program, postgres: { url, bin } };
}

/** A Gitea server with the users `ann` and `bot`, which ends with the test. */
export async function startGitea({
  program,
  postgres,
}: NonNullable<ReturnType<typeof giteaProgram>>) {
  // Its templates and options are beside its sources.
  const listed = await run("go", ["list", "-m", "-f", "{{.Dir}}", "code.gitea.io/gitea"], {
    cwd: join(import.meta.dirname, "../../../../tools/gitea"),
  });
  const root = listed.stdout.trim();
  const database = await createDatabase(postgres);
  const scratch = await mkdtempDisposable(join(tmpdir(), "gitea-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await mkdir(join(folder, "custom/conf"), { recursive: true });
  const config = join(folder, "custom/conf/app.ini");
  await writeFile(
    config,
    `RUN_MODE = prod
WORK_PATH = ${folder}
RUN_USER = ${(await run("id", ["-un"])).stdout.trim()}
[server]
STATIC_ROOT_PATH = ${root}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = ${url}/
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = postgres
HOST = ${database.host}
NAME = ${database.pathname.slice(1)}
USER = ${decodeURIComponent(database.username)}
PASSWD = ${decodeURIComponent(database.password)}
SSL_MODE = disable
[security]
INSTALL_LOCK = true
SECRET_KEY = secret
INTERNAL_TOKEN = eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJuYmYiOjE3MDAwMDAwMDB9.4-YHwMX3SYhCFSkWpYGbFgJjXQy2D9vOJkKJtUxTSxA
[webhook]
ALLOWED_HOST_LIST = loopback
[service]
DISABLE_REGISTRATION = true
[log]
LEVEL = Error
MODE = file
[cron]
ENABLED = false
`,
  );
  // Gitea runs as root in tests alone, where the machine of the test has no other user.
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: "true",
  };
  const gitea = async (...words: readonly string[]): Promise<string> => {
    const { stdout } = await run(program, [...words, "--config", config], {
      env,
      timeout: 120_000,
    });
    // Warnings come first.
    return stdout.trim().split("\n").at(-1) ?? "";
  };
  await gitea("migrate");
  const tokens: Record<string, string> = {};
  for (const user of ["ann", "bot"]) {
    await gitea(
      "admin",
      "user",
      "create",
      "--username",
      user,
      "--password",
      `${user}-password`,
      "--email",
      `${user}@example.com`,
      "--must-change-password=false",
    );
    tokens[user] = await gitea(
      "admin",
      "user",
      "generate-access-token",
      "--username",
      user,
      "--raw",
      "--token-name",
      "test",
      "--scopes",
      "all",
    );
  }
  const child = spawn(program, ["web", "--config", config], { env, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const call = async (user: "ann" | "bot", method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `token ${tokens[user]}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  return { url, call, tokens, isUp: async () => (await fetch(`${url}/api/v1/version`)).ok };
}

/** A database of the test; its address. */
async function createDatabase({ url, bin }: { url: string; bin: string }): Promise<URL> {
  const name = `gitea_${randomUUID().replaceAll("-", "_")}`;
  const server = ["--maintenance-db", url];
  await run(join(bin, "createdb"), [...server, name]);
  onTestFinished(async () => {
    await run(join(bin, "dropdb"), [...server, "--force", "--if-exists", name]);
  });
  const address = new URL(url);
  address.pathname = name;
  return address;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => void server.close(resolve));
  return port;
}
