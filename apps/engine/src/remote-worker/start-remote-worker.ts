import { availableParallelism } from "node:os";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { createServerClient, type Operations, type ServerClient } from "@stackwright/client";
import { createUlidGenerator } from "@stackwright/storage";
import { createThreadRenewer, type LeaseTiming } from "@stackwright/storage/lease";
import { createRemoteStorage } from "@stackwright/storage/remote";
import { ServerError } from "../domain/server-error.ts";
import type { JobStore } from "../executor/execution-job.ts";
import type { Executor } from "../executor/executor.ts";
import type { SpanSink } from "../span/span.ts";
import type { TraceScope } from "../span/trace-scope.ts";
import type { OfferedTool } from "../worker/offered-tools.ts";
import { LEASE_TOKEN, WORKER_PROTOCOL } from "../worker/remote-protocol.ts";
import type { RunWorker } from "../worker/run-worker.ts";
import type { StepLimits } from "../worker/step-deadline.ts";
import { createStepFolders } from "../worker/step-folders.ts";
import { succeedTenures } from "../worker/successive-tenures.ts";
import { openWorkerFolder } from "../worker/worker-folder.ts";
import { beginRemoteTenure } from "./begin-remote-tenure.ts";
import { ServerContact } from "./server-contact.ts";
import { type GroupMember, ServerGroup } from "./server-group.ts";
import { openStorageRelay, type StoragePlace } from "./storage-relay.ts";

type WorkerEndpoint = Operations["ShowWorkerEndpoint"]["output"];

/** How long a server may take to say where its storage service is. */
const PLACE_MS = 3_000;

interface RemoteWorkerOptions {
  /**
   * Addresses of the APIs of servers of one store, or of what balances them. Of several one is used until it drains or stops
   * answering.
   */
  readonly servers: readonly string[];
  /** A token with the role `worker`. */
  readonly token: string;
  /** Where the storage service of the only server is. @default the host of the server, and the port that it names */
  readonly storage?: StoragePlace;
  /** Authorities of the storage service, in PEM. @default those that Node trusts */
  readonly ca?: string | undefined;
  /** Folder for bundles and installed providers. */
  readonly directory: string;
  readonly executor: Executor;
  /** Steps that are executed at the same time. @default the cores of the machine */
  readonly capacity?: number | undefined;
  readonly limits?: StepLimits;
  /** Programs that execute runs instead of the engine. @default none */
  readonly tools?: readonly OfferedTool[];
  readonly timing?: LeaseTiming;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where the time of steps is reported. @default nowhere */
  readonly spans?: SpanSink | undefined;
  /** Knows what is part of which step. @default nothing does */
  readonly traces?: TraceScope | undefined;
}

/** A worker that claims steps at a server. */
interface RemoteWorker extends Omit<RunWorker, "wake"> {
  /** For how long no server has answered, in ms; 0 where the last request was answered. */
  lostForMs(): number;
}

/**
 * Starts a worker that has no store of its own: it claims steps at a server, and its executors reach the resources of their stacks
 * through the storage service, with the token of the claim. Rejects where the server cannot be reached, or refuses the token.
 */
export async function startRemoteWorker(options: RemoteWorkerOptions): Promise<RemoteWorker> {
  const { token, directory, clock, logger, executor, limits, timing } = options;
  const { capacity = availableParallelism() } = options;
  await using stack = new AsyncDisposableStack();
  const group = stack.use(new ServerGroup({ servers: options.servers, logger }));
  const [first] = group.members;
  if (first === undefined) throw new ServerError("invalid_request", "a worker needs a server");
  const userAgent = "stackwright-worker";
  const contact = new ServerContact(clock);
  const send = withTrace(options.traces, contact.watch(group.fetch));
  const clientOf = (secret: string): ServerClient =>
    createServerClient({
      server: first.url,
      token: secret,
      clock,
      userAgent,
      fetch: send,
    });
  const client = clientOf(token);
  const { data: endpoint } = await client.showWorkerEndpoint({});
  checkProtocol(endpoint);
  const placeOf = async ({ url }: GroupMember): Promise<StoragePlace> => {
    const own = createServerClient({ server: url, token, clock, userAgent, timeoutMs: PLACE_MS });
    // Whatever its release is: what is executed here ends there, while it gives no further steps to a worker that does not fit.
    const { data } = await own.showWorkerEndpoint({});
    return placeAt(url, data);
  };
  const store: Omit<JobStore, "token"> =
    group.members.length > 1
      ? {
          address: stack.use(await openStorageRelay({ group, placeOf, ca: options.ca, logger })),
        }
      : storeOf(options, first.url, endpoint);
  const connection = { ...store, token: `${LEASE_TOKEN}${token}` };

  const { path: folder } = stack.use(await openWorkerFolder(directory, logger));
  const storage = stack.adopt(await createRemoteStorage(connection), async (one) => one.close());
  const renewer = stack.use(
    createThreadRenewer({
      source: {
        module: "@stackwright/storage/remote",
        factory: "createRemoteStorage",
        options: connection,
      },
    }),
  );
  const nextUlid = createUlidGenerator({ wallMs: () => clock.wallMs() });
  const parts = {
    storage,
    renewer,
    timing,
    nextId: () => `${endpoint.worker_prefix}${nextUlid()}`,
    clock,
    logger,
    executor,
    folders: createStepFolders(folder, logger),
    client,
    clientOf,
    store,
    capacity,
    tools: options.tools,
    spans: options.spans,
    traces: options.traces,
    ...(limits !== undefined && { limits }),
  };
  const begin = async (signal: AbortSignal) => beginRemoteTenure(parts, signal);
  const tenures = await succeedTenures({ begin, stack, clock, logger });
  const { close } = tenures;
  return {
    get id() {
      return tenures.current().id;
    },
    lostForMs: () => contact.lostForMs(),
    close,
    [Symbol.asyncDispose]: async () => close(),
  };
}

/** `conflict` for a server of a release that this worker does not fit. */
function checkProtocol(endpoint: { readonly protocol: number }): void {
  if (endpoint.protocol === WORKER_PROTOCOL) return;
  throw new ServerError(
    "conflict",
    `the server speaks version ${endpoint.protocol} with workers, and this worker version ${WORKER_PROTOCOL}: install the same release`,
  );
}

/** Where the storage service is, and how connections to it are encrypted. */
function storeOf(
  { storage, ca }: Pick<RemoteWorkerOptions, "storage" | "ca">,
  server: string,
  endpoint: WorkerEndpoint,
): Omit<JobStore, "token"> {
  const at = storage ?? placeAt(server, endpoint);
  return {
    address: { host: at.host, port: at.port },
    ...(at.tls && { tls: { ...(ca !== undefined && { trusted: ca }) } }),
  };
}

/** The storage service of a server as the server names it. */
function placeAt(server: string, endpoint: WorkerEndpoint): StoragePlace {
  const host = new URL(server).hostname.replace(/^\[|\]$/g, "");
  return { host, port: endpoint.storage_port, tls: endpoint.storage_tls };
}

/** Sends what a step requests as part of its trace. */
function withTrace(traces: TraceScope | undefined, send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const { traceParent = "" } = traces ?? {};
    if (traceParent === "") return send(input, init);
    const headers = new Headers(init?.headers);
    headers.set("traceparent", traceParent);
    return send(input, { ...init, headers });
  };
}
