import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * A shell of its own session that outlives us by a moment. It reads orders from a pipe and obeys one rule: at end of
 * file, which also comes when we are killed, it kills the process group that it was ordered to watch, waits for it to
 * be gone and removes the folder.
 */
const SCRIPT = `
trap '' HUP INT TERM
group=
while read -r verb value; do
  case $verb in
    watch) group=$value; echo watching ;;
    forget) group=; echo forgot ;;
    leave) exit 0 ;;
  esac
done
if [ -n "$group" ]; then
  # PostgreSQL's backends are sessions of their own, so the group alone does not reach them.
  children=$(cat "/proc/$group/task/$group/children" 2>/dev/null)
  kill -s KILL -- "-$group" $children 2>/dev/null
  tries=0
  # A zombie is gone as well: its parent may have ended before it.
  while kill -s 0 -- "-$group" 2>/dev/null && [ $tries -lt 50 ] &&
    ! grep -q ') Z ' "/proc/$group/stat" 2>/dev/null; do
    tries=$((tries + 1)); sleep 0.1
  done
fi
tries=0
while ! rm -rf -- "$1" 2>/dev/null && [ $tries -lt 50 ]; do
  tries=$((tries + 1)); sleep 0.1
done
`;

/** Ends one server and removes its folder when this process dies in any way. */
export class Guard {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;

  /** Guards `folder`, and from `watch` on also a process group. */
  constructor(folder: string) {
    this.#child = spawn("sh", ["-c", SCRIPT, "sh", folder], {
      detached: true,
      cwd: "/",
      stdio: ["pipe", "pipe", "ignore"],
    });
    // A guard must not keep us alive: our end is what it waits for.
    this.#child.unref();
    // A guard that could not start, or has died, shows as an order without an answer.
    this.#child.on("error", () => {});
    this.#child.stdin?.on("error", () => {});
    this.#answers = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when the group can no longer survive this process. */
  watch(group: number): Promise<void> {
    return this.#order(`watch ${group}`, "watching");
  }

  /** The group has ended; another process may soon get its number. */
  forget(): Promise<void> {
    return this.#order("forget", "forgot");
  }

  /** Ends the guard; the folder is then the caller's again. */
  release(): void {
    this.#child.stdin?.end("leave\n");
  }

  async #order(line: string, answer: string): Promise<void> {
    this.#child.stdin?.write(`${line}\n`);
    const { value, done } = await this.#answers.next();
    if (done || value !== answer) throw new Error("the guard of a test server has died");
  }
}
