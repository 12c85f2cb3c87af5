import { type ChildProcess, execFile } from "node:child_process";
import { ServerError } from "../../domain/server-error.ts";

/** Why git refused. The text is what it wrote, in one line, without credentials: none is in its arguments or addresses. */
export class GitError extends Error {
  override readonly name = "GitError";
  /** 0 where git was ended from outside. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** How git is run. */
export interface GitOptions {
  readonly cwd: string;
  /** Of which git gets the search path and what the network needs. */
  readonly env: NodeJS.ProcessEnv;
  /** Protocols that git may speak, separated by colons. */
  readonly protocols: string;
  /** A header of requests to the repository, such as `Authorization: Basic ...`, and the addresses that get it. */
  readonly header?: { readonly address: string; readonly value: string };
  /** The only addresses of a host, as `HOST:PORT:ADDRESS,...`. @default what the system resolves */
  readonly pinned?: string | undefined;
  readonly signal: AbortSignal;
  /** @default 5 minutes */
  readonly timeoutMs?: number;
  /** Bytes of the output. @default 64 MiB */
  readonly maxBytes?: number;
  readonly input?: string;
}

/** What a repository cannot change: no hooks, no filters, no programs, no redirects; objects are checked as they arrive. */
const SETTINGS: Readonly<Record<string, string>> = {
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.attributesFile": "/dev/null",
  "credential.helper": "",
  "fetch.fsckObjects": "true",
  "gc.auto": "0",
  "http.followRedirects": "false",
  // A server that says nothing for a minute is given up. One that is at work says so every few seconds.
  "http.lowSpeedLimit": "1",
  "http.lowSpeedTime": "60",
  "maintenance.auto": "false",
  "submodule.recurse": "false",
};

/** Variables of this process that reach git: how it is found, and how it reaches the network. */
const PASSED =
  /^(?:PATH|HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy|SSL_CERT_(?:FILE|DIR)|GIT_SSL_CAINFO|SSH_AUTH_SOCK|GIT_SSH_COMMAND)$/;

/**
 * Runs git to its end, without a shell, settings of the user or a terminal, and returns what it wrote. Rejects with a {@link GitError}; `unprocessable`
 * for an output over the limit.
 */
export async function runGit(words: readonly string[], options: GitOptions): Promise<Buffer> {
  const { cwd, signal, timeoutMs = 300_000, maxBytes = 64 * 1024 * 1024, input } = options;
  signal.throwIfAborted();
  const done = Promise.withResolvers<Buffer>();
  const settings = {
    cwd,
    env: environmentOf(options),
    encoding: "buffer",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    maxBuffer: maxBytes,
    signal,
  } as const;
  const child: ChildProcess = execFile("git", words, settings, (error, stdout, stderr) => {
    if (error === null) done.resolve(stdout);
    else if (signal.aborted) done.reject(signal.reason as Error);
    else done.reject(failureOf(error, stderr, timeoutMs));
  });
  // A child that ends early reads no further input; how it ended says why.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(input ?? "");
  return done.promise;
}

function environmentOf({ env, protocols, header, pinned }: GitOptions): NodeJS.ProcessEnv {
  const settings = Object.entries(SETTINGS);
  if (header !== undefined) settings.push([`http.${header.address}.extraHeader`, header.value]);
  if (pinned !== undefined) settings.push(["http.curloptResolve", pinned]);
  const passed = Object.entries(env).filter(([name]) => PASSED.test(name));
  return {
    ...Object.fromEntries(passed),
    GIT_ALLOW_PROTOCOL: protocols,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    // In the environment, which other users of the machine cannot read, and not in the arguments.
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
    GIT_LFS_SKIP_SMUDGE: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_TERMINAL_PROMPT: "0",
    HOME: "/nonexistent",
    LC_ALL: "C",
  };
}

function failureOf(
  error: Error & { readonly code?: unknown; readonly killed?: boolean },
  stderr: Buffer,
  timeoutMs: number,
): GitError | ServerError {
  if (error.code === "ENOENT") {
    return new GitError("the program git is not installed on the server", 0);
  }
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") {
    return new ServerError("unprocessable", "git wrote more than the server takes");
  }
  if (error.killed === true) return new GitError(`git did not end within ${timeoutMs} ms`, 0);
  const lines = stderr
    .toString("utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const text = lines.slice(-4).join("; ").slice(0, 1_000);
  const exitCode = typeof error.code === "number" ? error.code : 0;
  return new GitError(text === "" ? `git ended with ${exitCode}` : text, exitCode);
}
