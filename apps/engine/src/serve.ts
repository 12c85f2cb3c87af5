import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import type { Server as TlsServer } from "node:tls";
import { systemClock } from "@stackwright/base/clock";
import {
  type OpenStore,
  openServerFunctions,
  openStore,
  parseStoreAddress,
  type StoreAddress,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import type { BridgeArchiveSource } from "@stackwright/provider-source";
import {
  CredentialStore,
  createAuthenticator,
  createKeyRing,
  createRegistry,
  type FunctionProbe,
  type Registry,
} from "@stackwright/registry";
import { createPublishedProviders } from "@stackwright/registry/terraform";
import { createUlidGenerator } from "@stackwright/storage";
import { loginPlugin } from "@stackwright/tfe";
import type { FastifyInstance } from "fastify";
import type { DestinationStream } from "pino";
import { AccessDirectory } from "./access/access-directory.ts";
import { issuerText } from "./access/access-places.ts";
import { LoginSessions } from "./access/login-sessions.ts";
import { registryAudit } from "./access/registry-audit.ts";
import { createFirstCredentials, writeCredentials } from "./bootstrap.ts";
import { consolePlugin } from "./console/console-plugin.ts";
import { helpPlugin } from "./console/help-plugin.ts";
import { DEVICE_PAGE } from "./device-login/device-pages.ts";
import { devicePlugin } from "./device-login/device-plugin.ts";
import { discoveredServices, LOGIN_PREFIX } from "./discovered-services.ts";
import { IdentityIssuer } from "./identity/identity-issuer.ts";
import { IdentityKeys } from "./identity/identity-keys.ts";
import { IdleConnections } from "./idle-connections.ts";
import { checkListening } from "./listening-rules.ts";
import { runMaintenance } from "./maintenance.ts";
import { observeStore } from "./metrics/observe-store.ts";
import { ServerMetrics } from "./metrics/server-metrics.ts";
import { openServerClock } from "./open-server-clock.ts";
import { planRetentionOf, runRetentionOf } from "./plan-expiry.ts";
import { publicOrigin } from "./public-origin.ts";
import { openRunServer } from "./run-server.ts";
import { createSchemaChanges } from "./schema-changes.ts";
import { createServerApp, type ServerPlugin } from "./server-app.ts";
import { serverKeys } from "./server-key.ts";
import { listServerKeyUses } from "./server-key-uses.ts";
import { createServerLogger } from "./server-logger.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";
import { createSessionAuthenticator } from "./sign-in/session-authenticator.ts";
import { readSignInFile } from "./sign-in/sign-in-file.ts";
import { signInPlugin } from "./sign-in/sign-in-plugin.ts";
import { TraceScope } from "./span/trace-scope.ts";
import { startStorageEndpoint } from "./storage-endpoint.ts";
import { cacheStore } from "./store-cache.ts";
import { storeHistoryOf } from "./store-history.ts";
import { createLoginPort } from "./tfe-api/login-port.ts";
import { endOfCertificate, readTlsFiles, watchTlsFiles } from "./tls-files.ts";
import { SpanExporter } from "./tracing/span-exporter.ts";
import { RequestTraces } from "./tracing/trace-requests.ts";
import { traceTargetOf } from "./tracing/trace-target.ts";
import { type OfferedTool, parseOfferedTool } from "./worker/offered-tools.ts";

/** What is put into a server by the program that starts it, rather than configured. */
export interface ServeParts {
  /** Aborting stops the server in good order. */
  readonly signal?: AbortSignal | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Folder that relative paths start from. @default the working directory */
  readonly directory?: string | undefined;
  /** Where logs go. @default standard output */
  readonly logs?: DestinationStream | undefined;
  /** Makes archives of function-hosted providers. @default by the table of functions, if there is one */
  readonly bridge?: BridgeArchiveSource | undefined;
  /** Checks functions. @default by the table of functions, if there is one */
  readonly probe?: FunctionProbe | undefined;
  /** Makes further plugins over the opened store, such as the engine's API. */
  readonly plugins?: ((parts: OpenServerParts) => readonly ServerPlugin[]) | undefined;
  readonly version?: string | undefined;
  /** How often blobs are collected. @default one hour */
  readonly collectMs?: number | undefined;
  /** How long blobs stay that nothing refers to. @default one hour */
  readonly blobHoldMs?: number | undefined;
  /** How often the files of the certificate are read again. @default 10,000 */
  readonly tlsCheckMs?: number | undefined;
}

/** What further plugins may use. */
export interface OpenServerParts {
  readonly store: OpenStore;
  readonly registry: Registry;
  readonly credentials: CredentialStore;
  readonly region: string;
}

/** A server that listens. Disposing stops it. */
export interface RunningServer extends AsyncDisposable {
  /** Such as `https://127.0.0.1:7400`. */
  readonly url: string;
  /** Port of the storage service; undefined without one. */
  readonly storagePort: number | undefined;
  /** Such as `stackwright://127.0.0.1:7401`, for the store of others; undefined without the storage service. */
  readonly storageAddress: string | undefined;
  readonly registry: Registry;
  readonly credentials: CredentialStore;
  /** Stops in good order, as an abort of the signal does; resolves when all parts have stopped. */
  close(): Promise<void>;
  /** Resolves when the server has stopped, for any reason. */
  readonly stopped: Promise<void>;
}

/**
 * Starts a server: opens the store, mounts the APIs of the registry and the storage service, listens.
 *
 * Stopping: `/readyz` says no for `drainDelayMs`, then connections are refused; requests that run have
 * `drainTimeoutMs` to end and are cut after that; then the store is closed.
 *
 * Rejects with `ENGINE_CONFIG_INVALID`, `ENGINE_KEY_UNAVAILABLE`, errors of the store, and those of
 * listening, with nothing left open.
 */
export async function serve(
  options: ServerOptions,
  parts: ServeParts = {},
): Promise<RunningServer> {
  const resolved = resolveServerOptions(options);
  checkListening(resolved);
  const { env = process.env, directory = process.cwd(), signal } = parts;
  signal?.throwIfAborted();
  const scope = new TraceScope();
  const logger = createServerLogger(resolved.logLevel, parts.logs, scope);
  const clock = systemClock;
  const address = parseStoreAddress(resolved.store, directory);
  const loaded = await serverKeys(resolved, address, env);
  const tls = resolved.tls && (await readTlsFiles(resolved.tls));
  let certificate = tls?.cert;

  const signIn =
    resolved.signInFile === undefined
      ? []
      : await readSignInFile(resolve(directory, resolved.signInFile), env);

  await using stack = new AsyncDisposableStack();
  const metrics = stack.use(new ServerMetrics({ engine: address.kind, clock }));
  const spans =
    resolved.otlpEndpoint === undefined
      ? undefined
      : stack.use(
          new SpanExporter({
            target: traceTargetOf(resolved.otlpEndpoint, env),
            resource: { "service.name": "stackwright", "service.version": parts.version ?? "0" },
            clock,
            logger,
          }),
        );
  const blobDirectory = resolved.blobDirectory ?? join(directory, "blobs");
  const history = storeHistoryOf(resolved);
  const opened = await openStore(address, {
    ...(parts.blobHoldMs !== undefined && { blobHoldMs: parts.blobHoldMs }),
    ...(resolved.quotas?.blobBytes !== undefined && {
      blobQuotaBytes: resolved.quotas.blobBytes,
    }),
    blobDirectory,
    logger,
    history,
    ...(env["STACKWRIGHT_TOKEN"] === undefined ? {} : { token: env["STACKWRIGHT_TOKEN"] }),
  });
  if (opened.historySize !== undefined) metrics.readHistoryBy(opened.historySize);
  const cached = cacheStore(opened, resolved.storeCacheMib, history);
  if (cached.statistics !== undefined) metrics.readCacheBy(cached.statistics);
  const store = stack.use(observeStore(cached.store, metrics.store));
  const serverClock = openServerClock(store, { clock, logger });
  metrics.readClockBy(async () => serverClock.standing());
  const functions =
    resolved.functionsFile === undefined
      ? undefined
      : stack.use(
          await openServerFunctions(resolve(directory, resolved.functionsFile), {
            env,
            region: resolved.region,
            logger,
          }),
        );
  const keys = createKeyRing(loaded.map(({ bytes }) => bytes));
  const registry = createRegistry({
    storage: store.storage,
    blobs: store.blobs,
    keys,
    clock,
    logger,
    probe: parts.probe ?? functions?.probe,
    policy: policyOf(resolved),
  });
  const { records } = registry.parts;
  const issuers = signIn.map(({ account, name: provider, issuer }) => ({
    account,
    provider,
    issuer: issuerText(issuer.href),
  }));
  const access = new AccessDirectory({ storage: store.storage, clock, issuers, logger });
  const credentials = new CredentialStore({
    records,
    keys,
    clock,
    rightsOf: async (token) => access.rightsOf(token),
  });
  if (resolved.bootstrapFile !== undefined && (await credentials.isEmpty())) {
    await writeCredentials(resolved.bootstrapFile, async () =>
      createFirstCredentials(credentials, "default"),
    );
    logger.info({ file: resolved.bootstrapFile }, "first credentials were written");
  }

  const draining = new AbortController();
  // Known once the storage service listens; requests come after that.
  const listening: { port?: number; storagePort?: number } = {};
  const audit = registryAudit(registry, resolved.region);
  const token = createUlidGenerator({ wallMs: () => clock.wallMs() });
  const accessParts = { storage: store.storage, clock, token, random: Math.random, access };
  const sessions = new LoginSessions({
    ...accessParts,
    pageKey: async () => registry.secrets.key("login-page"),
  });
  const origin = (): string => publicOrigin(resolved, listening.port);
  const tokens = createAuthenticator({ credentials, clock, region: resolved.region });
  const authenticator = metrics.access.observe(
    createSessionAuthenticator({ credentials: tokens, sessions, origin }),
  );
  const identityKeys = new IdentityKeys({
    clock,
    secret: async (name, make) => registry.secrets.secret(name, make),
  });
  const idempotencyKeys = {
    digestKey: async () => registry.secrets.key("idempotency-digest"),
    answerKey: async () => registry.secrets.key("idempotency-answer"),
  };
  const runs = stack.use(
    openRunServer({
      release: parts.version,
      identity: new IdentityIssuer({ keys: identityKeys, clock, origin }),
      store,
      address,
      keys: loaded,
      authenticator,
      access,
      credentials,
      sessions,
      audit,
      clock,
      logger,
      env,
      directory: resolve(directory, resolved.runDirectory ?? defaultRunDirectory(address)),
      executor: resolved.executor,
      container: resolved.container,
      kubernetes: resolved.kubernetes,
      capacity: resolved.runCapacity,
      limits: resolved.runLimits,
      planWaitHours: resolved.runs?.planWaitHours,
      rateLimit: resolved.apiRateLimit,
      provisionerProjects: resolved.provisionerProjects,
      moduleHosts: resolved.moduleHosts,
      publishedProviders: createPublishedProviders({ registry, region: resolved.region }),
      findProvider:
        functions &&
        (async (account, source, version) => {
          const scope = { account, region: resolved.region };
          const found = await registry.resolvePrivateProvider(scope, source, version);
          const { functionUrn, versionId } = found;
          return { functionUrn, versionId, call: functions.callOf(functionUrn, account) };
        }),
      schemaChanges:
        functions && createSchemaChanges({ registry, region: resolved.region, clock, functions }),
      metrics: metrics.runs,
      liveMetrics: metrics.live,
      spans,
      traces: scope,
      addressKey: async () => registry.secrets.key("tfe-address"),
      moduleAddressKey: async () => registry.secrets.key("module-address"),
      upstreamAddressKey: async () => registry.secrets.key("upstream-address"),
      auditWebhookKey: async () => registry.secrets.key("audit-webhook"),
      idempotencyKeys,
      rfsAddressKey: async () => registry.secrets.key("rfs-address"),
      upstreamHosts: resolved.upstreamHosts,
      upstreamNamespaces: resolved.upstreamNamespaces,
      mirrorHosts: resolved.mirrorHosts,
      upstreamCacheMib: resolved.upstreamCacheMib,
      upstreamMetrics: metrics.upstream,
      accessMetrics: metrics.access,
      upstreamNetworks: resolved.upstreamNetworks,
      opaCommand: resolved.opaCommand,
      vcsHosts: resolved.vcsHosts,
      vcsCopiesMib: resolved.vcsCopiesMib,
      notificationHosts: resolved.notificationHosts,
      origin,
      tools: resolved.tools?.map(offeredToolOf),
      serverClock,
      facts: {
        secretKeys: async (during) => {
          const uses = await listServerKeyUses(store.storage, loaded, { signal: during });
          // Users whose commands share the store have their own keys for their stacks.
          return uses.filter(({ isAvailable, secrets }) => isAvailable || secrets > 0);
        },
        identityKeys: async () => void (await identityKeys.published()),
        directories: [blobDirectory],
        clockStanding: async () => serverClock.standing(),
        certificateEndMs: () =>
          certificate === undefined ? undefined : endOfCertificate(certificate),
      },
      vcsFolders: resolved.vcsFolders?.map((folder) => resolve(directory, folder)),
      storageEndpoint: () => {
        const { storagePort: port } = listening;
        return port === undefined ? undefined : { port, tls: tls !== undefined };
      },
      stopping: draining.signal,
    }),
  );
  const deviceLogin: ServerPlugin = {
    prefix: DEVICE_PAGE,
    plugin: async (fastify) =>
      devicePlugin(fastify, {
        ...accessParts,
        credentials,
        providers: signIn,
        sessions,
        audit,
        origin,
        codeKey: async () => registry.secrets.key("device-login"),
      }),
  };
  const app = await createServerApp({
    storage: store.storage,
    registry,
    credentials,
    authenticator,
    region: resolved.region,
    metrics,
    traces: new RequestTraces({ scope, clock, spans }),
    logger,
    keeping: {
      storage: store.storage,
      clock,
      token,
      random: Math.random,
      idempotencyKeys,
    },
    isDraining: () => draining.signal.aborted,
    mirrorHosts: resolved.mirrorHosts,
    bridge: parts.bridge ?? functions?.bridge,
    rateLimit: resolved.rateLimit,
    publishLimits:
      resolved.quotas?.archiveBytes === undefined
        ? {}
        : { maxArchiveBytes: resolved.quotas.archiveBytes },
    services: discoveredServices(signIn.length > 0),
    plugins: [
      ...runs.plugins,
      {
        prefix: LOGIN_PREFIX,
        plugin: async (fastify) =>
          loginPlugin(fastify, {
            port: createLoginPort({
              credentials,
              clock,
              codeKey: async () => registry.secrets.key("tfe-login"),
              sessions,
              providers: signIn.map(({ name }) => name),
              origin,
            }),
          }),
      },
      {
        prefix: "/auth",
        plugin: async (fastify) =>
          signInPlugin(fastify, {
            ...accessParts,
            providers: signIn,
            sessions,
            credentials,
            authenticator: tokens,
            audit,
            origin,
            flowKey: async () => registry.secrets.key("login-flow"),
          }),
      },
      ...(signIn.length === 0 ? [] : [deviceLogin]),
      ...(resolved.withoutConsole === true ? [] : [CONSOLE]),
      ...(parts.plugins?.({ store, registry, credentials, region: resolved.region }) ?? []),
    ],
    openMetrics: resolved.openMetrics,
    trustProxy: resolved.trustProxy ?? false,
    tls,
    version: parts.version ?? "0",
  });
  const idle = new IdleConnections(app.server);
  stack.defer(() => closeApp(app, idle, resolved.drainTimeoutMs));
  const storageServer =
    resolved.storagePort === undefined
      ? undefined
      : stack.adopt(
          await startStorageEndpoint({
            storage: store.storage,
            blobs: store.blobs,
            credentials,
            clock,
            logger,
            host: resolved.host,
            port: resolved.storagePort,
            tls,
          }),
          (server) => server.close({ graceMs: resolved.drainTimeoutMs }),
        );
  const bound = storageServer?.address;
  if (bound !== undefined && "port" in bound) listening.storagePort = bound.port;
  await app.listen({ host: resolved.host, port: resolved.port });
  listening.port = (app.server.address() as AddressInfo).port;

  if (resolved.tls !== undefined && tls !== undefined) {
    const watching = watchTlsFiles(resolved.tls, tls, {
      logger,
      scheduler: clock,
      intervalMs: parts.tlsCheckMs,
      take: ({ cert, key }) => {
        certificate = cert;
        storageServer?.replaceTls({ identity: { certificate: cert, privateKey: key } });
        (app.server as unknown as TlsServer).setSecureContext({ cert, key, minVersion: "TLSv1.2" });
      },
    });
    stack.use(watching);
  }

  const healthCheckMs =
    resolved.healthCheckMinutes === undefined ? undefined : resolved.healthCheckMinutes * 60_000;
  const maintenance = runMaintenance(
    {
      registry,
      store,
      serverClock,
      scheduler: clock,
      metrics,
      logger,
      healthCheckMs,
      planRetention: planRetentionOf(resolved),
      runRetention: runRetentionOf(resolved),
      ...(parts.collectMs !== undefined && { collectMs: parts.collectMs }),
    },
    draining.signal,
  );
  stack.defer(async () => {
    // Where the start fails, nothing else ends it.
    draining.abort(new Error("the server stops"));
    await maintenance;
  });

  const worker = await runs.startWorker();
  stack.defer(async () => worker.close(resolved.drainTimeoutMs));

  const { port } = app.server.address() as AddressInfo;
  const { storagePort } = listening;
  const host = resolved.host.includes(":") ? `[${resolved.host}]` : resolved.host;
  const url = `${tls === undefined ? "http" : "https"}://${host}:${port}`;
  logger.info({ url, store: address.kind, region: resolved.region }, "the server listens");

  const owned = stack.move();
  const stopped = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= (async () => {
      logger.info("the server stops");
      draining.abort();
      try {
        await new Promise((resolve) => setTimeout(resolve, resolved.drainDelayMs));
        await owned.disposeAsync();
        logger.info("the server has stopped");
      } finally {
        stopped.resolve();
      }
    })();
    return closing;
  };
  const onAbort = (): void => {
    close().catch((error: unknown) => logger.error({ err: error }, "the server stopped badly"));
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  return {
    url,
    storagePort,
    storageAddress:
      storagePort === undefined
        ? undefined
        : `${tls === undefined ? "stackwright" : "stackwrights"}://${host}:${storagePort}`,
    registry,
    credentials,
    close,
    stopped: stopped.promise,
    [Symbol.asyncDispose]: close,
  };
}

const CONSOLE: ServerPlugin = {
  prefix: "",
  plugin: async (fastify) => {
    consolePlugin(fastify);
    helpPlugin(fastify);
  },
};

/** The directory of executors: next to an embedded store, else in the folder of the server. */
function defaultRunDirectory(address: StoreAddress): string {
  return address.kind === "sqlite" ? join(address.directory, "runs") : "runs";
}

/** Lets running requests end, and cuts those that do not. */
async function closeApp(
  app: FastifyInstance,
  idle: IdleConnections,
  timeoutMs: number,
): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
  try {
    const closed = app.close();
    idle.close();
    await closed;
  } finally {
    clearTimeout(timer);
  }
}

function policyOf(options: ServerOptions) {
  const { quotas, deleteProvider, deleteUsed, tombstones, auditDays } = options;
  const { reservedNamespaces = [], upstreamNamespaces = [] } = options;
  // What accounts would publish there is not served.
  const mirrored = upstreamNamespaces.map((text) => text.slice(0, text.indexOf("=")));
  return {
    ...(quotas?.providers === undefined ? {} : { maxProviders: quotas.providers }),
    ...(quotas?.versionsPerProvider === undefined
      ? {}
      : { maxVersionsPerProvider: quotas.versionsPerProvider }),
    ...(deleteProvider === undefined ? {} : { deleteProvider }),
    ...(deleteUsed === undefined ? {} : { deleteUsed }),
    ...(tombstones === undefined ? {} : { tombstones }),
    reservedNamespaces: [...reservedNamespaces, ...mirrored],
    ...(auditDays === undefined ? {} : { auditDays }),
  };
}

function offeredToolOf(text: string): OfferedTool {
  try {
    return parseOfferedTool(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError("ENGINE_CONFIG_INVALID", why, { cause: error });
  }
}
