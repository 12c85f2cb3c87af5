import type { Clock } from "@stackwright/base/clock";
import { BackendArguments } from "@stackwright/tfstate/backend";
import { type ClusterAccess, openCluster, sendRequest } from "@stackwright/tfstate/cluster";

/** Which cluster, and as whom. */
export interface ClusterPlace {
  /** A file of the form of kubectl. @default those of `KUBECONFIG`, or the account of the pod that this runs in */
  readonly config?: string | undefined;
  /** @default the current one of the file */
  readonly context?: string | undefined;
}

interface ClusterClientOptions extends ClusterPlace {
  readonly env: NodeJS.ProcessEnv;
  /** Folder that relative paths start from. */
  readonly directory: string;
  readonly clock: Clock;
}

interface ClusterCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With its query. */
  readonly path: string;
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

/** What the API server answered. */
export interface ClusterAnswer {
  readonly status: number;
  readonly text: string;
  /** What a `Status` says, or the status code; empty for an answer that is none. */
  readonly problem: string;
}

const UNAUTHORIZED = 401;
/** Tokens of pods and of programs for credentials are replaced long before they end. */
const ACCESS_MS = 60_000;
const CALL_MS = 30_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Calls the API server of a cluster over HTTPS. Credentials are read again each minute, and when one is refused. */
export class ClusterClient {
  readonly #options: ClusterClientOptions;
  #access: Promise<ClusterAccess> | undefined;
  #openedAt = 0;

  constructor(options: ClusterClientOptions) {
    this.#options = options;
  }

  /**
   * Resolves with any answer. Rejects where there is none, and where no cluster is configured (`TFSTATE_BACKEND_INVALID`).
   */
  async call(call: ClusterCall): Promise<ClusterAnswer> {
    const answer = await this.#send(call);
    if (answer.status !== UNAUTHORIZED) return answer;
    this.#access = undefined;
    return this.#send(call);
  }

  async #send({ method, path, body, signal }: ClusterCall): Promise<ClusterAnswer> {
    const { server, headers, security } = await this.#open();
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await sendRequest({
      method,
      url: `${server.replace(/\/+$/, "")}${path}`,
      headers: { Accept: "application/json, text/plain, */*", "Content-Type": type, ...headers },
      security,
      signal,
      retries: 0,
      deadlineMs: CALL_MS,
      maxBytes: MAX_ANSWER_BYTES,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = answer.body.toString("utf8");
    const problem = answer.status < 400 ? "" : (messageOf(text) ?? `HTTP status ${answer.status}`);
    return { status: answer.status, text, problem };
  }

  async #open(): Promise<ClusterAccess> {
    const { env, directory, clock, config, context } = this.#options;
    const now = clock.monotonicMs();
    if (this.#access !== undefined && now - this.#openedAt < ACCESS_MS) return this.#access;
    const files = (env["KUBECONFIG"] ?? "").split(":").filter(Boolean);
    const given = new BackendArguments(
      "kubernetes",
      {
        ...(config === undefined ? { config_paths: files } : { config_path: config }),
        ...(context !== undefined && { config_context: context }),
      },
      // What the state backend of this name reads there is not meant for executors.
      {},
    );
    const opened = openCluster(given, { directory, env })({});
    this.#access = opened;
    this.#openedAt = now;
    opened.catch(() => {
      if (this.#access === opened) this.#access = undefined;
    });
    return opened;
  }
}

/** The message of a `Status`. */
function messageOf(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" && message !== "" ? message : undefined;
  } catch {
    return undefined;
  }
}
