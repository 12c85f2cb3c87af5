import { join } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { RateLimit } from "@stackwright/base/limiter";
import {
  createStoredKeys,
  type KeyEncryptionKey,
  type OpenStore,
  StackDirectory,
  type StackReference,
  type StoreAddress,
} from "@stackwright/core";
import { AddressGuard } from "@stackwright/fg-bridge";
import type { PolicyResult } from "@stackwright/proto/stackwright";
import type { Authenticator, CredentialStore } from "@stackwright/registry";
import type { PublishedProviders } from "@stackwright/registry/terraform";
import { rfsStacksPlugin } from "@stackwright/rfs-stacks";
import { createUlidGenerator } from "@stackwright/storage";
import { createThreadRenewer } from "@stackwright/storage/lease";
import { tfePlugin } from "@stackwright/tfe";
import { InstallHttpClient } from "@stackwright/tfplugin/install";
import type { Logger } from "pino";
import type { AccessDirectory } from "./access/access-directory.ts";
import type { LoginSessions } from "./access/login-sessions.ts";
import type { AuditTrail } from "./access/registry-audit.ts";
import { AccountPlaces } from "./api/account-places.ts";
import { apiPlugin } from "./api/api-plugin.ts";
import type { IdempotencyKeys } from "./api/idempotency/answer-keeper.ts";
import { AuditForwarder } from "./audit-webhook/audit-forwarder.ts";
import type { ServerClock } from "./clock/server-clock.ts";
import type { ServerFacts } from "./doctor/server-facts.ts";
import type { FindSchemaChanges } from "./domain/find-schema-changes.ts";
import { createInProcessExecutor } from "./executor/in-process-executor.ts";
import {
  APART_KINDS,
  type ApartKind,
  type ContainerChoice,
  type KubernetesChoice,
  openExecutor,
} from "./executor-choice.ts";
import type { IdentityIssuer } from "./identity/identity-issuer.ts";
import { identityPlugin } from "./identity/identity-plugin.ts";
import { LiveView } from "./live/live-view.ts";
import { LogBell } from "./logs/log-bell.ts";
import type { AccessMetrics } from "./metrics/access-metrics.ts";
import type { LiveMetrics } from "./metrics/live-metrics.ts";
import type { RunMetrics } from "./metrics/run-metrics.ts";
import type { UpstreamMetrics } from "./metrics/upstream-metrics.ts";
import { modulePlugin } from "./module-api/module-plugin.ts";
import { NotificationWorker } from "./notify/notification-worker.ts";
import { PlanRenderer } from "./plan-rendering/plan-renderer.ts";
import { PolicyRunner } from "./policy/policy-runner.ts";
import { ProviderReactor } from "./provider-reaction/provider-reactor.ts";
import { ServedProjects } from "./queue/served-projects.ts";
import { listAllTickets } from "./queue/sweep.ts";
import { TicketBoard } from "./queue/ticket-board.ts";
import { createRfsPort } from "./rfs-api/rfs-port.ts";
import { StackSetWorker } from "./rfs-api/stack-set-worker.ts";
import type { ServerPlugin } from "./server-app.ts";
import type { ServerOptions } from "./server-options.ts";
import type { SpanSink } from "./span/span.ts";
import type { TraceScope } from "./span/trace-scope.ts";
import { statePlugin } from "./state-api/state-plugin.ts";
import { memoryBoundOf, processorBoundOf, stepLimitsOf, stuckBoundsOf } from "./step-bounds.ts";
import { appPages } from "./tfe-api/app-pages.ts";
import { createTfePort } from "./tfe-api/tfe-port.ts";
import { TriggerReaction } from "./trigger/trigger-reaction.ts";
import { guardedFetch } from "./upstream/guarded-fetch.ts";
import { withUpstreamNamespaces } from "./upstream/own-namespaces.ts";
import { providerStandings } from "./upstream/provider-standing.ts";
import { UpstreamMirror } from "./upstream/upstream-mirror.ts";
import { upstreamHostsOf, upstreamNamespacesOf } from "./upstream/upstream-names.ts";
import { upstreamPlugin } from "./upstream-api/upstream-plugin.ts";
import { OutgoingHosts } from "./vcs/provider/outgoing-hosts.ts";
import { VcsWorker } from "./vcs/vcs-worker.ts";
import { DeliveryLimits } from "./vcs-api/delivery-limits.ts";
import { driftHookPlugin } from "./vcs-api/drift-hook-plugin.ts";
import { hookPlugin } from "./vcs-api/hook-plugin.ts";
import { keptKeys } from "./worker/kept-keys.ts";
import { LiveServers } from "./worker/live-servers.ts";
import type { OfferedTool } from "./worker/offered-tools.ts";
import type { FindProvider } from "./worker/read-registry.ts";
import { RefusedWorkers } from "./worker/refused-workers.ts";
import { type RunWorker, startRunWorker } from "./worker/run-worker.ts";

interface RunServerOptions {
  readonly store: OpenStore;
  readonly address: StoreAddress;
  readonly keys: readonly [KeyEncryptionKey, ...KeyEncryptionKey[]];
  readonly authenticator: Authenticator;
  readonly access: AccessDirectory;
  readonly credentials: CredentialStore;
  readonly sessions: LoginSessions;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of this server, for operators of the store. @default it does not say */
  readonly release?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Where bundles are unpacked and providers installed. */
  readonly directory: string;
  readonly executor?: ApartKind | "in-process" | "none" | undefined;
  readonly container?: ContainerChoice | undefined;
  readonly kubernetes?: KubernetesChoice | undefined;
  readonly capacity?: number | undefined;
  readonly metrics?: RunMetrics | undefined;
  readonly liveMetrics?: LiveMetrics | undefined;
  /** Where the time of steps is reported. @default nowhere */
  readonly spans?: SpanSink | undefined;
  /** Knows what is part of which trace. */
  readonly traces: TraceScope;
  /** Bounds of each step. */
  readonly limits?: ServerOptions["runLimits"];
  /** How long a run that only plans may wait for a worker. @default 24 */
  readonly planWaitHours?: number | undefined;
  /** Requests to the API per credential. @default 200 per second, 2,000 at once */
  readonly rateLimit?: RateLimit | undefined;
  /** Programs that plan and apply stacks instead of the engine. @default none */
  readonly tools?: readonly OfferedTool[] | undefined;
  /** Projects whose runs may execute provisioners, as `ACCOUNT/PROJECT`. */
  readonly provisionerProjects?: readonly string[] | undefined;
  /** Finds published providers for runs. @default there are none */
  readonly publishedProviders?: PublishedProviders | undefined;
  /** Finds private providers for runs. @default there are none */
  readonly findProvider?: FindProvider | undefined;
  /** Compares the schemas of versions of private providers. @default there are none */
  readonly schemaChanges?: FindSchemaChanges | undefined;
  /** Hosts from which runs fetch modules. @default none */
  readonly moduleHosts?: readonly string[] | undefined;
  /** Authenticates the addresses of uploads and downloads, the same in all servers of the store. */
  readonly addressKey: () => Promise<Uint8Array>;
  /** The same for those of archives of modules. */
  readonly moduleAddressKey: () => Promise<Uint8Array>;
  /** The same for those of packages of upstream providers. */
  readonly upstreamAddressKey: () => Promise<Uint8Array>;
  /** The same for those of templates, and for the markers of their lists. */
  readonly rfsAddressKey: () => Promise<Uint8Array>;
  /** Encrypts the secrets of audit webhooks, the same in all servers of the store. */
  readonly auditWebhookKey: () => Promise<Uint8Array>;
  /** With what the records of requests with an idempotency key are made. */
  readonly idempotencyKeys: IdempotencyKeys;
  /** The upstream registries that are mirrored, as `HOST` or `HOST=URL`. @default none */
  readonly upstreamHosts?: readonly string[] | undefined;
  /** Namespaces of this server for theirs, as `NAMESPACE=HOST` or `NAMESPACE=HOST/NAMESPACE`. @default none */
  readonly upstreamNamespaces?: readonly string[] | undefined;
  /** Hosts under which the network mirror of this server has its namespaces. @default none */
  readonly mirrorHosts?: readonly string[] | undefined;
  /** MiB of their packages that are kept for an account. @default as many as it has room for */
  readonly upstreamCacheMib?: number | undefined;
  readonly upstreamMetrics?: UpstreamMetrics | undefined;
  readonly accessMetrics?: AccessMetrics | undefined;
  /** Private networks in which they may be, in CIDR form. @default none */
  readonly upstreamNetworks?: readonly string[] | undefined;
  /** Folders of this machine whose Git repositories may be connected. @default none */
  readonly vcsFolders?: readonly string[] | undefined;
  /** The command that compiles policies written in Rego. @default none */
  readonly opaCommand?: readonly string[] | undefined;
  /** Hosts in private networks that connections may reach. @default none */
  readonly vcsHosts?: readonly string[] | undefined;
  /** MiB of the copies of connected repositories. @default 10,240 */
  readonly vcsCopiesMib?: number | undefined;
  /** Hosts in private networks that notifications may be sent to. @default none */
  readonly notificationHosts?: readonly string[] | undefined;
  /** The address of the server as users see it, once it listens. */
  readonly origin: () => string;
  /** Where the storage service of the server is, once it listens; undefined without one. */
  readonly storageEndpoint: () => { readonly port: number; readonly tls: boolean } | undefined;
  /** Vouches for runs. */
  readonly identity: IdentityIssuer;
  /** What is known of its clock. */
  readonly serverClock: ServerClock;
  /** What the server says of itself to those who operate it. */
  readonly facts: ServerFacts;
  /** Ends streams of events when the server stops. */
  readonly stopping: AbortSignal;
}

const HOUR_MS = 3_600_000;

/** The host that means the registry of the server which executes a run, whatever its name is. */
const LOCAL_REGISTRY = "localterraform.com";

/** What makes a server plan and apply: its API of runs, the state of commands elsewhere, and a worker. */
interface RunServer extends AsyncDisposable {
  readonly plugins: readonly ServerPlugin[];
  /** Starts the worker of this server. One that executes nothing still relieves workers that died, and repairs queues. */
  startWorker(): Promise<RunWorker>;
}

/** Where the API of the `cloud` block is, which service discovery names. */
export const TFE_PREFIX = "/api/v2";

/** Opens the API of runs over a store, and prepares a worker. */
export function openRunServer(options: RunServerOptions): RunServer {
  const { store, address, clock, logger, env, directory, capacity } = options;
  const { storage, blobs, renewal } = store;
  const [current, ...former] = options.keys;
  const keys = keptKeys(createStoredKeys({ storage, current, former }), storage);
  const token = createUlidGenerator({ wallMs: () => clock.wallMs() });
  const policies = new PolicyRunner({ clock });
  const { traces } = options;
  const parts = { storage, blobs, clock, token, keys, random: Math.random, policies, traces };
  const bell = new LogBell({ storage, clock, logger });
  const tickets = new TicketBoard({ storage, clock, logger });
  const live = new LiveView({ storage, logger, clock });
  const reaction = new TriggerReaction({ ...parts, logger }, live.dueTriggers);
  const stacks = new StackDirectory({ storage });
  const guard = new AddressGuard({ allow: options.upstreamNetworks ?? [] });
  const fetch = guardedFetch(guard);
  const upstreamHosts = upstreamHostsOf(options.upstreamHosts ?? []);
  const { upstreamCacheMib } = options;
  const upstream = new UpstreamMirror({
    ...parts,
    logger,
    hosts: upstreamHosts,
    maxCachedBytes: upstreamCacheMib === undefined ? undefined : upstreamCacheMib * 1024 ** 2,
    metrics: options.upstreamMetrics,
    http: new InstallHttpClient({ fetch }),
    stopping: options.stopping,
  });
  const upstreamNamespaces = upstreamNamespacesOf(
    options.upstreamNamespaces ?? [],
    upstreamHosts.keys(),
  );
  const ownHosts = (): readonly string[] => [LOCAL_REGISTRY, new URL(options.origin()).host];
  const claimed = {
    logger,
    served: new ServedProjects(clock),
    identity: options.identity,
    provisionerProjects: new Set(options.provisionerProjects),
    findProvider: options.findProvider,
    publishedProviders:
      options.publishedProviders &&
      withUpstreamNamespaces(options.publishedProviders, upstream, upstreamNamespaces),
    onJudged: (result: PolicyResult) => options.metrics?.judged(result),
    findStanding:
      options.publishedProviders &&
      providerStandings({
        published: options.publishedProviders,
        mirror: upstream,
        namespaces: upstreamNamespaces,
        ownHosts,
        mirrorHosts: options.mirrorHosts ?? [],
      }),
    ownHosts,
    modules: () => ({ hosts: options.moduleHosts ?? [] }),
    stackOf: async ({ account, project, stack: id }: StackReference) => {
      const all = await stacks.list({ account, project });
      return all.find(({ reference }) => reference.stack === id);
    },
  };
  const providers = new ProviderReactor({
    ...parts,
    logger,
    live,
    findStanding: claimed.findStanding,
    findProvider: options.findProvider,
    namespaces: upstreamNamespaces,
    servedHosts: () => [...ownHosts(), ...(options.mirrorHosts ?? [])],
  });
  const servers = new LiveServers({ storage, clock });
  const workers = { ...claimed, tickets, servers, storageEndpoint: options.storageEndpoint };
  const { executor = defaultExecutor(address), authenticator, stopping, rateLimit } = options;
  const { access, credentials, sessions, audit } = options;
  const { addressKey, moduleAddressKey } = options;
  const refusedWorkers = new RefusedWorkers(clock);
  const stateUploads = new AccountPlaces({ all: 64, account: 16 });
  const { vcsFolders: localFolders = [], tools = [] } = options;
  const hosts = new OutgoingHosts(options.vcsHosts);
  const hooked = { ...parts, limits: new DeliveryLimits(clock) };
  const notifications = {
    logger,
    hosts: new OutgoingHosts(options.notificationHosts, undefined, "--notification-host"),
    origin: options.origin,
  };
  options.liveMetrics?.readBy(live.counts);
  options.metrics?.readQueueBy(async (signal) => listAllTickets({ storage, logger }, { signal }));
  return {
    plugins: [
      {
        prefix: "/api/v1",
        plugin: async (fastify) =>
          apiPlugin(fastify, {
            ...parts,
            authenticator,
            access,
            credentials,
            sessions,
            audit,
            upstream,
            schemaChanges: options.schemaChanges,
            bell,
            live,
            streamObserver: options.accessMetrics,
            stopping,
            rateLimit,
            workers,
            localFolders,
            opaCommand: options.opaCommand ?? [],
            hosts,
            notifications,
            auditWebhookKey: options.auditWebhookKey,
            idempotencyKeys: options.idempotencyKeys,
            tools,
            stuck: stuckBoundsOf(options.limits),
            server: { ...options.facts, directories: directoriesOf(options), refusedWorkers },
          }),
      },
      {
        prefix: "",
        plugin: async (fastify) => identityPlugin(fastify, { issuer: options.identity }),
      },
      {
        prefix: "",
        plugin: async (fastify) =>
          modulePlugin(fastify, {
            ...parts,
            authenticator,
            credentials,
            rateLimit,
            addressKey: moduleAddressKey,
          }),
      },
      {
        prefix: "",
        plugin: async (fastify) =>
          upstreamPlugin(fastify, {
            mirror: upstream,
            blobs,
            authenticator,
            credentials,
            clock,
            rateLimit,
            addressKey: options.upstreamAddressKey,
            namespaces: upstreamNamespaces,
            mirrorHosts: options.mirrorHosts,
          }),
      },
      {
        prefix: "/v1",
        plugin: async (fastify) =>
          rfsStacksPlugin(fastify, {
            port: createRfsPort({
              ...parts,
              audit,
              authenticator,
              credentials,
              logger,
              fetch,
              rateLimit,
              addressKey: options.rfsAddressKey,
            }),
          }),
      },
      { prefix: "/hooks/vcs", plugin: async (fastify) => hookPlugin(fastify, hooked) },
      { prefix: "/hooks/drift", plugin: async (fastify) => driftHookPlugin(fastify, hooked) },
      {
        prefix: "/state/v1",
        plugin: async (fastify) =>
          statePlugin(fastify, { ...parts, authenticator, rateLimit, places: stateUploads, audit }),
      },
      { prefix: "/app", plugin: async (fastify) => appPages(fastify, parts) },
      {
        prefix: TFE_PREFIX,
        plugin: async (fastify) =>
          tfePlugin(fastify, {
            port: createTfePort({
              ...parts,
              authenticator,
              access,
              credentials,
              sessions,
              audit,
              addressKey,
              logger,
              rateLimit,
              stateUploads,
            }),
          }),
      },
    ],
    startWorker: async () => {
      await using stack = new AsyncDisposableStack();
      const renewer =
        renewal === undefined ? undefined : stack.use(createThreadRenewer({ source: renewal }));
      const executes = stack.use(
        isApart(executor)
          ? await openExecutor({
              kind: executor,
              container: options.container,
              kubernetes: options.kubernetes,
              store: JSON.stringify(address),
              logger,
              clock,
              env,
              directory,
              maxMemoryBytes: memoryBoundOf(options.limits),
              maxProcessorMs: processorBoundOf(options.limits),
            })
          : createInProcessExecutor({ storage, blobs, renewer, env }),
      );
      stack.use(
        new VcsWorker({
          ...parts,
          logger,
          env,
          renewer,
          renderer: new PlanRenderer({ clock }),
          directory: join(directory, "vcs"),
          maxCopyBytes: (options.vcsCopiesMib ?? 10_240) * 1024 ** 2,
          localFolders,
          hosts,
          spans: options.spans,
        }),
      );
      stack.use(new StackSetWorker({ ...parts, logger, renewer }));
      const stuck = stuckBoundsOf(options.limits);
      const { serverClock } = options;
      stack.use(
        new NotificationWorker({ ...parts, ...notifications, renewer, stuck, serverClock }),
      );
      stack.use(
        new AuditForwarder({
          ...parts,
          logger,
          audit,
          hosts: notifications.hosts,
          secretKey: options.auditWebhookKey,
          renewer,
        }),
      );
      const worker = await startRunWorker({
        ...parts,
        ...claimed,
        tickets,
        executor: executes,
        tools,
        directory,
        renewer,
        limits: stepLimitsOf(options.limits),
        planWaitMs: options.planWaitHours && options.planWaitHours * HOUR_MS,
        serverClock: options.serverClock,
        observer: options.metrics,
        release: options.release,
        spans: options.spans,
        ...(executor === "none" ? { capacity: 0 } : capacity !== undefined && { capacity }),
      });
      const owned = stack.move();
      const close = async (graceMs?: number): Promise<void> => {
        await worker.close(graceMs);
        await owned.disposeAsync();
      };
      return {
        get id() {
          return worker.id;
        },
        wake: () => worker.wake(),
        close,
        [Symbol.asyncDispose]: async () => close(),
      };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([reaction[Symbol.asyncDispose](), providers[Symbol.asyncDispose]()]);
      live[Symbol.dispose]();
      await Promise.all([bell[Symbol.asyncDispose](), tickets[Symbol.asyncDispose]()]);
    },
  };
}

/** Where the server writes: bundles, copies of repositories, and the store where it is embedded. */
function directoriesOf({ directory, address, facts }: RunServerOptions): readonly string[] {
  const own = address.kind === "sqlite" ? [address.directory] : [];
  return [...own, directory, ...facts.directories];
}

function isApart(kind: string): kind is ApartKind {
  return APART_KINDS.some((one) => one === kind);
}

/** A store in memory has one trusted user; a store on another server has workers there. */
function defaultExecutor({ kind }: StoreAddress): "child" | "in-process" | "none" {
  if (kind === "memory") return "in-process";
  return kind === "remote" ? "none" : "child";
}
