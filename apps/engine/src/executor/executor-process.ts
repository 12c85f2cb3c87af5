import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import type { Logger } from "@stackwright/base/logger";
import { ChildOutput } from "./child-output.ts";
import type { ExecutionJob } from "./execution-job.ts";
import { secretsOf } from "./job-secrets.ts";

/** Variables of a worker that an executor gets beside its own; all others stay with the worker. */
export const INHERITED =
  /^(?:(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|STACKWRIGHT_PROVIDER_CARRIER)$/;
/** The same for those that name files or folders. */
export const INHERITED_PATHS =
  /^(?:SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|TF_CLI_CONFIG_FILE|TF_PLUGIN_CACHE_DIR|STACKWRIGHT_PULUMI_(?:PLUGINS|SERVER))$/;

const MIB = 1024 * 1024;

/** The heap of the executor has half of the memory: the rest is for its providers, buffers and code. */
export function heapArgument(maxBytes: number): string {
  return `--max-old-space-size=${Math.max(64, Math.floor(maxBytes / 2 / MIB))}`;
}

/** Passes what a process writes to some of its streams to the log of the operator, and keeps a failure to start from being fatal. */
export function logProcess(
  child: ChildProcess,
  streams: readonly (Readable | null)[],
  job: ExecutionJob,
  logger: Logger | undefined,
): void {
  // Without a listener from the start, a machine without free descriptors would end the server.
  child.on("error", (error) => {
    logger?.warn({ run: job.run, err: error }, "a process could not be started");
  });
  const secrets = secretsOf(job);
  for (const stream of streams) {
    const output = new ChildOutput(secrets, (text) => {
      logger?.warn({ run: job.run, text }, "an executor wrote");
    });
    stream?.on("data", (chunk: Buffer) => output.take(chunk));
    stream?.once("close", () => output.end());
  }
}
