import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createPostgresBlobs } from "../../blob/postgres-blobs.ts";
import { assertCode } from "../../testing/assertions.ts";
import { postgresServers } from "../../testing/live/postgres-servers.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../../testing/scratch-directory.ts";
import { createPostgresStorage } from "../postgres.ts";

const server = postgresServers().at(-1);
const { TEST_PGBOUNCER: program } = process.env;

/** What an operator may have told PgBouncer to accept and to drop. */
const SETTINGS =
  "search_path,statement_timeout,lock_timeout,idle_in_transaction_session_timeout," +
  "default_transaction_isolation,client_min_messages";

describe.skipIf(server === undefined || program === undefined)(
  "PgBouncer",
  { timeout: 30_000 },
  () => {
    let scratch: ScratchDirectory;
    let child: ChildProcess | undefined;

    beforeEach(async () => {
      scratch = await makeScratchDirectory();
      await chmod(scratch.path, 0o755);
    });

    afterEach(async () => {
      if (child?.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      await scratch[Symbol.asyncDispose]();
    });

    /** Starts it in front of the server; gives the URL that leads through it. */
    async function start(mode: string, ignored: string): Promise<string> {
      const target = new URL(server?.url ?? "");
      const [port] = await freePorts(1);
      const file = join(scratch.path, "pgbouncer.ini");
      const { username, password } = target;
      // As root it refuses to run: it changes to another account.
      const account = process.getuid?.() === 0 ? "user = nobody\n" : "";
      await writeFile(
        file,
        `[databases]
* = host=127.0.0.1 port=${target.port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
${ignored === "" ? "" : `ignore_startup_parameters = ${ignored}\n`}${account}`,
        { mode: 0o644 },
      );
      child = spawn(program ?? "", ["--quiet", file], { stdio: ["ignore", "ignore", "pipe"] });
      await expect.poll(() => isListening(port ?? 0), { timeout: 10_000 }).toBe(true);
      target.port = String(port);
      return target.href;
    }

    test.each([
      ["transaction", "refuses the settings of a session", ""],
      ["transaction", "drops the settings of a session", SETTINGS],
      ["statement", "drops the settings of a session", SETTINGS],
      ["session", "drops the settings of a session", SETTINGS],
    ])(
      "in the mode %s, where it %s, is refused before anything is made",
      async (mode, _, ignored) => {
        const url = await start(mode, ignored);
        for (const open of [createPostgresStorage, createPostgresBlobs]) {
          const opening: Promise<unknown> = open({ url, schema: "never_made" });
          const { message, details } = await assertCode(opening, "STORAGE_INVALID_ARGUMENT");
          expect(message).toContain("such as PgBouncer; name the address of the PostgreSQL server");
          expect(message).not.toContain(new URL(url).password);
          expect(details.field).toBe("url");
        }
        // The server itself has nothing of it.
        const direct = createPostgresStorage({
          url: server?.url ?? "",
          schema: "never_made",
          migrate: false,
        });
        await assertCode(direct, "STORAGE_SCHEMA");
      },
    );
  },
);

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
