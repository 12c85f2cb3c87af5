import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { parseArgs } from "node:util";
import { systemClock } from "@stackwright/base/clock";
import { isClientError } from "@stackwright/client";
import { parseStoreAddress, StoreAddressError } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import type { DestinationStream } from "pino";
import { APART_KINDS, type ApartKind, openExecutor } from "./executor-choice.ts";
import { nearOption } from "./near-option.ts";
import { serveWorkerHealth } from "./remote-worker/serve-worker-health.ts";
import { startRemoteWorker } from "./remote-worker/start-remote-worker.ts";
import { createServerLogger } from "./server-logger.ts";
import { TraceScope } from "./span/trace-scope.ts";
import { memoryBoundOf, stepLimitsOf } from "./step-bounds.ts";
import { SpanExporter } from "./tracing/span-exporter.ts";
import { traceTargetOf } from "./tracing/trace-target.ts";
import { type OfferedTool, parseOfferedTool } from "./worker/offered-tools.ts";
import { WORKER_FLAGS, type WorkerFlag } from "./worker-arguments.ts";

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
  const given = parse(args);
  const servers = (given.server ?? env["STACKWRIGHT_SERVER"] ?? "")
    .split(",")
    .filter((server) => server !== "");
  if (servers.length === 0) {
    throw invalid("a worker needs a server: set --server URL or STACKWRIGHT_SERVER");
  }
  if (new Set(servers).size < servers.length) {
    throw invalid("--server names a server twice");
  }
  if (servers.length > 1 && given.storage !== undefined) {
    throw invalid("--storage is for one server; each of several names its own storage service");
  }
  const server = servers.join(",");
  const token = await tokenOf(given, env, directory);
  const caFile = given["ca-file"] ?? (env["STACKWRIGHT_CA_FILE"] || undefined);
  const ca = caFile === undefined ? undefined : await readText(resolve(directory, caFile));
  if (ca !== undefined) setDefaultCACertificates([...getCACertificates("default"), ca]);
  const clock = systemClock;
  const traces = new TraceScope();
  const logger = createServerLogger(given["log-level"] ?? "info", logs, traces);
  const folder = resolve(directory, given.directory ?? "runs");
  const bounds = {
    planMinutes: numberOf(given, "plan-minutes"),
    shadowMinutes: numberOf(given, "shadow-minutes"),
    applyMinutes: numberOf(given, "apply-minutes"),
    stopSeconds: numberOf(given, "stop-seconds"),
    memoryMib: numberOf(given, "memory-mib"),
  };
  const drainSeconds = numberOf(given, "drain-seconds") ?? 1_800;
  const { "otlp-endpoint": endpoint } = given;
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
  });
  const storage = given.storage === undefined ? undefined : storageOf(given.storage, directory);
  const worker = await startRemoteWorker({
    servers,
    token,
    ca,
    directory: folder,
    executor,
    capacity: numberOf(given, "capacity"),
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
  const healthPort = numberOf(given, "health-port");
  const at = { host: given["health-host"] ?? "127.0.0.1", port: healthPort ?? 0 };
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

type Given = Readonly<Partial<Record<WorkerFlag, string>>>;

function parse(args: readonly string[]): Given {
  try {
    const options = Object.fromEntries(
      Object.keys(WORKER_FLAGS).map((name) => [name, { type: "string" } as const]),
    );
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const [first = why] = why.split(". ");
    const advice = nearOption(first, Object.keys(WORKER_FLAGS));
    throw invalid(`${first}; stackwright worker --help lists all options`, error, advice);
  }
}

async function tokenOf(given: Given, env: NodeJS.ProcessEnv, directory: string): Promise<string> {
  const file = given["token-file"];
  if (file !== undefined) return (await readText(resolve(directory, file))).trim();
  const token = env["STACKWRIGHT_TOKEN"] ?? "";
  if (token !== "") return token;
  throw invalid(
    "a worker needs a token with the role worker: set STACKWRIGHT_TOKEN or --token-file",
  );
}

function kindOf({ executor = "child" }: Given): ApartKind {
  const kind = APART_KINDS.find((one) => one === executor);
  if (kind !== undefined) return kind;
  throw invalid(`--executor takes ${APART_KINDS.join(", ")}`);
}

/** The tools that the option names. */
function toolsOf({ tool }: Given): readonly OfferedTool[] {
  try {
    return (tool ?? "").split(",").filter(Boolean).map(parseOfferedTool);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error), error);
  }
}

/** What the options say of containers. */
function containerOf(given: Given) {
  const list = (text: string | undefined, by: string): string[] | undefined =>
    text?.split(by).filter(Boolean);
  return {
    image: given["container-image"],
    command: list(given["container-command"], " "),
    network: given["container-network"],
    volumes: list(given["container-volume"], ","),
  };
}

/** What the options say of pods. */
function kubernetesOf(given: Given, directory: string) {
  const placed = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(directory, path);
  return {
    image: given["kubernetes-image"],
    namespace: given["kubernetes-namespace"],
    template: placed(given["kubernetes-template"]),
    address: given["kubernetes-address"],
    port: numberOf(given, "kubernetes-port"),
    config: placed(given["kubernetes-config"]),
    context: given["kubernetes-context"],
    startSeconds: numberOf(given, "kubernetes-start-seconds"),
  };
}

/** The value of an option as a number within the bounds of the table; undefined where it is not given. */
function numberOf(given: Given, name: WorkerFlag): number | undefined {
  const { [name]: text } = given;
  const { bounds } = WORKER_FLAGS[name] as { readonly bounds?: readonly [number, number] };
  if (text === undefined || bounds === undefined) return undefined;
  const [least, most] = bounds;
  if (/^[0-9]{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) {
    return Number(text);
  }
  throw invalid(`--${name} takes a whole number from ${least} to ${most}`);
}

function storageOf(text: string, directory: string) {
  try {
    const address = parseStoreAddress(text, directory);
    if (address.kind === "remote") return address;
  } catch (error) {
    if (!(error instanceof StoreAddressError)) throw error;
  }
  throw invalid("--storage takes stackwright://HOST:PORT, or stackwrights:// with TLS");
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw invalid(`the file "${path}" cannot be read`, error);
  }
}

function invalid(message: string, cause?: unknown, advice?: string): EngineError {
  const details = { ...(advice !== undefined && { advice }) };
  return new EngineError("ENGINE_CONFIG_INVALID", message, { cause, details });
}
