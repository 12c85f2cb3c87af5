import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { TfstateError } from "../errors.ts";
import { withDeadline } from "./deadline.ts";

/** A file system of another machine may not answer. */
const LOCK_DEADLINE_MS = 60_000;

// The reference command locks the whole state file with an advisory write lock of the operating system (fcntl). Node has no
// call for it. SQLite uses such locks, and Node has SQLite: in the locking mode "exclusive" the first read of a file acquires
// a read lock of a byte range and keeps it until the file is closed, also where the file turns out not to be a database.
// A read lock of any range conflicts with a write lock of the whole file, both ways. Nothing is written.
//
// Such locks belong to a process, and end as soon as it closes the file anywhere. Hence a child process that does
// nothing else; it ends with its standard input, so at the latest with this process.
const HOLDER = `
const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync(process.argv[1], { readOnly: true });
let answer = "held";
try {
  database.exec("PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE");
  database.prepare("SELECT 1 FROM sqlite_schema").get();
} catch (error) {
  if (error.errcode === 5) answer = "busy";
  else if (error.errcode !== 26) answer = error.message;
}
process.stdout.write(answer + "\\n");
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
`;

/**
 * Holds a lock of a file against the reference command until it is disposed of. Undefined where another process has locked
 * the file. A file that does not exist needs no lock.
 */
export async function holdFileLock(path: string): Promise<AsyncDisposable | undefined> {
  if (!existsSync(path)) return { [Symbol.asyncDispose]: async () => undefined };
  const child = spawn(process.execPath, ["--no-warnings", "-e", HOLDER, path], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const started = new Promise<string>((resolve, reject) => {
    let text = "";
    child.once("error", reject);
    child.once("close", () => resolve(text));
    child.stdout.on("data", (part: Buffer) => {
      text += part.toString("utf8");
      if (text.endsWith("\n")) resolve(text.trim());
    });
  });
  const limits = { signal: undefined, ms: LOCK_DEADLINE_MS };
  const answer = await withDeadline(`locking ${path}`, limits, async () => started).catch(
    (error: unknown) => {
      child.kill("SIGKILL");
      throw error;
    },
  );
  const close = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  if (answer === "held") return { [Symbol.asyncDispose]: close };
  await close();
  if (answer === "busy") return undefined;
  throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `cannot lock ${path}: ${answer}`);
}
