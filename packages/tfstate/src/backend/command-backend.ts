import { execFile } from "node:child_process";
import { TfstateError } from "../errors.ts";
import { commandEnvironment } from "./command-environment.ts";
import { type BackendCall, type StateBackend, sortedWorkspaces } from "./state-backend.ts";

/** Options of {@link commandBackend}. */
export interface CommandBackendOptions {
  /** The program: `terraform`, `tofu`, or a path. */
  readonly command: string;
  /** The directory of the root module, in which its `init` was run. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** For each call of the program. @default 10 minutes */
  readonly timeoutMs?: number;
}

const MAX_BYTES = 512 * 1024 * 1024;

/**
 * Any backend, read and written by the installed command: `state pull`, `state push`, `workspace list`. It has no lock that
 * outlives one of these calls, so the caller compares serials before it relies on what it read.
 */
export function commandBackend(options: CommandBackendOptions): StateBackend {
  const { command, timeoutMs = 600_000 } = options;
  const run = async (
    words: readonly string[],
    workspace: string | undefined,
    { signal }: BackendCall,
    input?: Uint8Array,
  ): Promise<string> => {
    const env = commandEnvironment(options.env);
    if (workspace !== undefined) env["TF_WORKSPACE"] = workspace;
    return new Promise((resolve, reject) => {
      const child = execFile(
        command,
        [...words],
        {
          cwd: options.directory,
          env,
          maxBuffer: MAX_BYTES,
          // It releases its own lock by this signal.
          timeout: timeoutMs,
          killSignal: "SIGTERM",
          ...(signal !== undefined && { signal }),
        },
        (error, stdout, stderr) => {
          if (error === null) resolve(stdout);
          else if (signal?.aborted === true) reject(signal.reason as Error);
          else if (error.killed === true && error.signal === "SIGTERM") {
            const late = new Error(`it did not end within ${timeoutMs} ms`, { cause: error });
            reject(failure(command, words, late, ""));
          } else reject(failure(command, words, error, stderr));
        },
      );
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(input);
    });
  };
  return {
    type: "command",
    place: (workspace) => `workspace ${workspace}, read by "${command} state pull"`,
    workspaces: async (call = {}) => {
      const text = await run(["workspace", "list", "-no-color"], undefined, call).catch(
        (error: unknown) => {
          // A backend without workspaces says so, and has only one state.
          if (String(error).includes("workspaces not supported")) return "default";
          throw error;
        },
      );
      return sortedWorkspaces(
        text.split("\n").flatMap((line) => line.replace(/^\*?\s*/, "").trim() || []),
      );
    },
    read: async (workspace, call = {}) => {
      const text = await run(["state", "pull"], workspace, call);
      return text.trim() === "" ? undefined : Buffer.from(text);
    },
    write: async (workspace, bytes, call = {}) => {
      await run(["state", "push", "-"], workspace, call, bytes);
    },
    lock: async (_workspace, record) => ({
      id: record.ID,
      outlivesProcess: false,
      release: async () => undefined,
    }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function failure(
  command: string,
  words: readonly string[],
  error: Error,
  stderr: string,
): TfstateError {
  const { code } = error as NodeJS.ErrnoException;
  const lines = stderr.split("\n").filter((line) => /[A-Za-z]/.test(line));
  const detail =
    code === "ENOENT"
      ? "the program was not found"
      : lines
          .slice(0, 4)
          .map((line) => line.replace(/[│╷╵]/g, "").trim())
          .join(" ");
  return new TfstateError(
    "TFSTATE_BACKEND_UNAVAILABLE",
    `"${command} ${words.join(" ")}" failed: ${detail === "" ? error.message : detail}`,
    { cause: error },
  );
}
