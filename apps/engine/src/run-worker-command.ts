import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { systemClock } from "@stackwright/base/clock";
import { isClientError } from "@stackwright/client";
import { parseStoreAddress, StoreAddressError } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import type { DestinationStream } from "pino";
import { APART_KINDS, type ApartKind, openExecutor } from "./executor-choice.ts";
import { listOf, nearVariables, WORKER_VARIABLES } from "./option-variables.ts";
import { serveWorkerHealth } from "./remote-worker/serve-worker-health.ts";
import { startRemoteWorker } from "./remote-worker/start-remote-worker.ts";
import { createServerLogger } from "./server-logger.ts";
import { TraceScope } from "./span/trace-scope.ts";
import { memoryBoundOf, processorBoundOf, stepLimitsOf } from "./step-bounds.ts";
import { SpanExporter } from "./tracing/span-exporter.ts";
import { traceTargetOf } from "./tracing/trace-target.ts";
import { type OfferedTool, parseOfferedTool } from "./worker/offered-tools.ts";
import { WORKER_FLAGS } from "./worker-arguments.ts";
import { parseWorkerArguments, type WorkerArguments, workerNumber } from "./worker-options.ts";

interface WorkerCommandParts {
  readonly env: NodeJS.ProcessEnv;
  /** Folder that relative paths start from. */
  readonly directory: string;
  /** Aborting drains the worker. */
  readonly signal: AbortSignal;
  /** Where logs go. @default standard output */
  readonly logs?: DestinationStream | undefined;
  /** The worker claims steps from now on. */
  readonly onStart?: (server: string) => void;
}

/**
 * Runs a worker until the signal aborts, and drains it then: it claims nothing more, its plans are made by other workers, and its
 * applies may end within the drain time. `ENGINE_CONFIG_INVALID` for invalid options, and for a server that refuses the worker.
 */
export async function runWorkerCommand(
  args: readonly string[],
  { env, directory, signal, logs, onStart }: WorkerCommandParts,
): Promise<void> {
  const given = parseWorkerArguments(args, env);
  const { values, nameOf } = given;
  const servers = listOf(values.server ?? env["STACKWRIGHT_SERVER"] ?? "");
  if (servers.length === 0) {
    throw invalid(
      "a worker needs a server: set --server URL, STACKWRIGHT_WORKER_SERVER or STACKWRIGHT_SERVER",
    );
  }
  if (new Set(servers).size < servers.length) {
    const by = values.server === undefined ? "STACKWRIGHT_SERVER" : nameOf("server");
    throw invalid(`${by} names a server twice`);
  }
  if (servers.length > 1 && values.storage !== undefined) {
    throw invalid(
      `${nameOf("storage")} is for one server; each of several names its own storage service`,
    );
  }
  const server = servers.join(",");
  const token = await tokenOf(given, env, directory);
  const ca = await authoritiesOf(given, env, directory);
  if (ca !== undefined) setDefaultCACertificates([...getCACertificates("default"), ca]);
  const clock = systemClock;
  const traces = new TraceScope();
  const logger = createServerLogger(values["log-level"] ?? "info", logs, traces);
  for (const near of nearVariables(WORKER_VARIABLES, Object.keys(WORKER_FLAGS), env)) {
    logger.warn(
      near,
      "a variable of the environment is near to one of the worker, but gives no option",
    );
  }
  const folder = resolve(directory, values.directory ?? "runs");
  const bounds = {
    planMinutes: workerNumber(given, "plan-minutes"),
    shadowMinutes: workerNumber(given, "shadow-minutes"),
    applyMinutes: workerNumber(given, "apply-minutes"),
    stopSeconds: workerNumber(given, "stop-seconds"),
    memoryMib: workerNumber(given, "memory-mib"),
    cpuMinutes: workerNumber(given, "cpu-minutes"),
  };
  const drainSeconds = workerNumber(given, "drain-seconds") ?? 1_800;
  const { "otlp-endpoint": endpoint } = values;
  await using spans =
    endpoint === undefined
      ? undefined
      : new SpanExporter({
          target: traceTargetOf(endpoint, env),
          resource: { "service.name": "stackwright-worker" },
          clock,
          logger,
        });
  await using executor = await openExecutor({
    kind: kindOf(given),
    container: containerOf(given),
    kubernetes: kubernetesOf(given, directory),
    store: server,
    logger,
    clock,
    env,
    directory: folder,
    maxMemoryBytes: memoryBoundOf(bounds),
    maxProcessorMs: processorBoundOf(bounds),
  });
  const storage = storageOf(given, directory);
  const worker = await startRemoteWorker({
    servers,
    token,
    ca,
    directory: folder,
    executor,
    capacity: workerNumber(given, "capacity"),
    limits: stepLimitsOf(bounds),
    tools: toolsOf(given),
    clock,
    logger,
    spans,
    traces,
    ...(storage !== undefined && { storage }),
  }).catch((error: unknown) => {
    if (!isClientError(error)) throw error;
    throw invalid(`the server refuses the worker: ${error.message} (${error.code})`, error);
  });
  const healthPort = workerNumber(given, "health-port");
  const at = { host: values["health-host"] ?? "127.0.0.1", port: healthPort ?? 0 };
  await using health =
    healthPort === undefined
      ? undefined
      : await serveWorkerHealth(at, () => ({
          draining: signal.aborted,
          lostForMs: worker.lostForMs(),
        })).catch(async (error: unknown) => {
          await worker.close(0);
          throw invalid(`the health of the worker cannot be served on port ${at.port}`, error);
        });
  logger.info(
    { worker: worker.id, server, ...(health !== undefined && { healthPort: health.port }) },
    "the worker claims steps",
  );
  onStart?.(server);
  await new Promise<void>((done) => {
    signal.addEventListener("abort", () => done(), { once: true });
    if (signal.aborted) done();
  });
  logger.info({ drainSeconds }, "the worker drains");
  await worker.close(drainSeconds * 1_000);
  logger.info("the worker has ended");
}

async function tokenOf(
  { values, nameOf }: WorkerArguments,
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string> {
  const file = values["token-file"];
  if (file !== undefined) {
    return (await readText(resolve(directory, file), nameOf("token-file"))).trim();
  }
  const token = env["STACKWRIGHT_TOKEN"] ?? "";
  if (token !== "") return token;
  throw invalid(
    "a worker needs a token with the role worker: set STACKWRIGHT_TOKEN or --token-file",
  );
}

/** The authorities that a file has, in PEM; undefined where none is named. */
async function authoritiesOf(
  { values, nameOf }: WorkerArguments,
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string | undefined> {
  const own = values["ca-file"];
  if (own !== undefined) return readText(resolve(directory, own), nameOf("ca-file"));
  const { STACKWRIGHT_CA_FILE: common = "" } = env;
  return common === "" ? undefined : readText(resolve(directory, common), "STACKWRIGHT_CA_FILE");
}

function kindOf({ values: { executor = "child" }, nameOf }: WorkerArguments): ApartKind {
  const kind = APART_KINDS.find((one) => one === executor);
  if (kind !== undefined) return kind;
  throw invalid(`${nameOf("executor")} takes ${APART_KINDS.join(", ")}`);
}

/** The tools that the option names. */
function toolsOf({ values: { tool = "" }, nameOf }: WorkerArguments): readonly OfferedTool[] {
  try {
    return listOf(tool).map(parseOfferedTool);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalid(`${nameOf("tool")}: ${why}`, error);
  }
}

/** What the options say of containers. */
function containerOf(given: WorkerArguments) {
  const { values } = given;
  const volumes = values["container-volume"];
  return {
    image: values["container-image"],
    command: values["container-command"]?.split(" ").filter(Boolean),
    network: values["container-network"],
    cpuPercent: workerNumber(given, "container-cpu-percent"),
    volumes: volumes === undefined ? undefined : listOf(volumes),
  };
}

/** What the options say of pods. */
function kubernetesOf(given: WorkerArguments, directory: string) {
  const { values } = given;
  const placed = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(directory, path);
  return {
    image: values["kubernetes-image"],
    namespace: values["kubernetes-namespace"],
    template: placed(values["kubernetes-template"]),
    address: values["kubernetes-address"],
    port: workerNumber(given, "kubernetes-port"),
    config: placed(values["kubernetes-config"]),
    context: values["kubernetes-context"],
    startSeconds: workerNumber(given, "kubernetes-start-seconds"),
  };
}

function storageOf({ values: { storage }, nameOf }: WorkerArguments, directory: string) {
  if (storage === undefined) return undefined;
  try {
    const address = parseStoreAddress(storage, directory);
    if (address.kind === "remote") return address;
  } catch (error) {
    if (!(error instanceof StoreAddressError)) throw error;
  }
  throw invalid(`${nameOf("storage")} takes stackwright://HOST:PORT, or stackwrights:// with TLS`);
}

/** @param by the option or the variable that names the file */
async function readText(path: string, by: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw invalid(`the file "${path}" of ${by} cannot be read`, error);
  }
}

function invalid(message: string, cause?: unknown): EngineError {
  return new EngineError("ENGINE_CONFIG_INVALID", message, { cause });
}
