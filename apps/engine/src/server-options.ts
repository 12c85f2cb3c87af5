import type { RateLimit } from "@stackwright/base/limiter";
import type { KeySource } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { type TSchema, Type } from "typebox";
import { Value } from "typebox/value";
import { helpOf, SERVE_OPTIONS } from "./serve-flags.ts";

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });
const count = (description: string, minimum: number, maximum: number) =>
  Type.Integer({ description, minimum, maximum });
const minutes = (description: string) =>
  Type.Number({ description, minimum: 0.01, maximum: 10_080 });

/** Options of a server: from a file, from the options of the command, or from a program. */
export const ServerOptionsSchema = Type.Object(
  {
    store: text(helpOf("store")),
    storeCacheMib: Type.Optional(count(helpOf("store-cache-mib"), 0, 1_048_576)),
    host: Type.Optional(text(helpOf("host"))),
    port: Type.Optional(count(helpOf("port"), 0, 65_535)),
    storagePort: Type.Optional(count(helpOf("storage-port"), 0, 65_535)),
    region: Type.Optional(
      Type.String({
        description: helpOf("region"),
        pattern: "^[a-z0-9][a-z0-9-]{0,63}$",
      }),
    ),
    publicHost: Type.Optional(text(helpOf("public-host"))),
    signInFile: Type.Optional(text(helpOf("sign-in"))),
    mirrorHosts: Type.Optional(Type.Array(text("a host"), { description: helpOf("mirror-host") })),
    moduleHosts: Type.Optional(
      Type.Array(Type.String({ pattern: "^[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$" }), {
        description: helpOf("module-host"),
        maxItems: 100,
      }),
    ),
    upstreamHosts: Type.Optional(
      Type.Array(Type.String({ pattern: "^[A-Za-z0-9.:-]{1,253}(=https?://[^\\s]{1,1024})?$" }), {
        description: helpOf("upstream-host"),
        maxItems: 100,
      }),
    ),
    upstreamNamespaces: Type.Optional(
      Type.Array(
        Type.String({
          pattern:
            "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}=[A-Za-z0-9.:-]{1,253}(/[A-Za-z0-9][A-Za-z0-9_-]{0,63})?$",
        }),
        { description: helpOf("upstream-namespace"), maxItems: 100 },
      ),
    ),
    upstreamCacheMib: Type.Optional(
      Type.Integer({ description: helpOf("upstream-cache-mib"), minimum: 1, maximum: 2 ** 30 }),
    ),
    upstreamNetworks: Type.Optional(
      Type.Array(text("a network"), { description: helpOf("upstream-network"), maxItems: 100 }),
    ),
    blobDirectory: Type.Optional(text(helpOf("blob-directory"))),
    tls: Type.Optional(
      Type.Object(
        {
          certificateFile: text(helpOf("tls-certificate")),
          keyFile: text(helpOf("tls-key")),
        },
        { additionalProperties: false },
      ),
    ),
    withoutTls: Type.Optional(
      Type.Boolean({
        description: helpOf("without-tls"),
      }),
    ),
    withoutConsole: Type.Optional(Type.Boolean({ description: helpOf("without-console") })),
    keyFile: Type.Optional(text(helpOf("key-file"))),
    keyVariable: Type.Optional(text(helpOf("key-variable"))),
    keyCommand: Type.Optional(
      Type.Array(text("a word"), { description: helpOf("key-command"), minItems: 1 }),
    ),
    formerKeyFile: Type.Optional(text(helpOf("former-key-file"))),
    formerKeyVariable: Type.Optional(text(helpOf("former-key-variable"))),
    formerKeyCommand: Type.Optional(
      Type.Array(text("a word"), { description: helpOf("former-key-command"), minItems: 1 }),
    ),
    bootstrapFile: Type.Optional(text(helpOf("bootstrap-file"))),
    executor: Type.Optional(
      Type.Union(
        [
          Type.Literal("child"),
          Type.Literal("container"),
          Type.Literal("kubernetes"),
          Type.Literal("in-process"),
          Type.Literal("none"),
        ],
        { description: helpOf("executor") },
      ),
    ),
    container: Type.Optional(
      Type.Object(
        {
          image: Type.Optional(text(helpOf("container-image"))),
          command: Type.Optional(
            Type.Array(text("a word"), { description: helpOf("container-command"), minItems: 1 }),
          ),
          network: Type.Optional(text(helpOf("container-network"))),
          cpuPercent: Type.Optional(count(helpOf("container-cpu-percent"), 10, 102_400)),
          volumes: Type.Optional(
            Type.Array(text("a volume"), {
              description: helpOf("container-volume"),
              maxItems: 100,
            }),
          ),
        },
        { additionalProperties: false, description: "containers that steps are executed in" },
      ),
    ),
    kubernetes: Type.Optional(
      Type.Object(
        {
          image: Type.Optional(text(helpOf("kubernetes-image"))),
          namespace: Type.Optional(text(helpOf("kubernetes-namespace"))),
          template: Type.Optional(text(helpOf("kubernetes-template"))),
          address: Type.Optional(text(helpOf("kubernetes-address"))),
          port: Type.Optional(count(helpOf("kubernetes-port"), 0, 65_535)),
          config: Type.Optional(text(helpOf("kubernetes-config"))),
          context: Type.Optional(text(helpOf("kubernetes-context"))),
          startSeconds: Type.Optional(count(helpOf("kubernetes-start-seconds"), 1, 86_400)),
        },
        { additionalProperties: false, description: "pods that steps are executed in" },
      ),
    ),
    runDirectory: Type.Optional(text(helpOf("run-directory"))),
    runCapacity: Type.Optional(count(helpOf("run-capacity"), 1, 1_000)),
    runLimits: Type.Optional(
      Type.Object(
        {
          planMinutes: Type.Optional(count(helpOf("run-plan-minutes"), 1, 10_080)),
          shadowMinutes: Type.Optional(count(helpOf("run-shadow-minutes"), 1, 10_080)),
          applyMinutes: Type.Optional(count(helpOf("run-apply-minutes"), 1, 10_080)),
          stopSeconds: Type.Optional(count(helpOf("run-stop-seconds"), 0, 86_400)),
          memoryMib: Type.Optional(count(helpOf("run-memory-mib"), 256, 16_777_216)),
          cpuMinutes: Type.Optional(count(helpOf("run-cpu-minutes"), 1, 1_000_000)),
          unclaimedMinutes: Type.Optional(minutes(helpOf("run-unclaimed-minutes"))),
          silentMinutes: Type.Optional(minutes(helpOf("run-silent-minutes"))),
        },
        { additionalProperties: false, description: "limits of each step of a run" },
      ),
    ),
    tools: Type.Optional(
      Type.Array(text("a tool"), { description: helpOf("tool"), maxItems: 100 }),
    ),
    provisionerProjects: Type.Optional(
      Type.Array(Type.String({ pattern: "^[^/]+/[^/]+$", maxLength: 512 }), {
        description: helpOf("provisioner-project"),
        maxItems: 1000,
      }),
    ),
    opaCommand: Type.Optional(
      Type.Array(text("a word"), { description: helpOf("opa-command"), minItems: 1 }),
    ),
    vcsFolders: Type.Optional(
      Type.Array(text("a folder"), { description: helpOf("vcs-folder"), maxItems: 100 }),
    ),
    vcsHosts: Type.Optional(
      Type.Array(text("a host"), { description: helpOf("vcs-host"), maxItems: 100 }),
    ),
    vcsCopiesMib: Type.Optional(count(helpOf("vcs-copies-mib"), 1, 16_777_216)),
    otlpEndpoint: Type.Optional(text(helpOf("otlp-endpoint"))),
    notificationHosts: Type.Optional(
      Type.Array(text("a host"), { description: helpOf("notification-host"), maxItems: 100 }),
    ),
    functionsFile: Type.Optional(text(helpOf("functions"))),
    quotas: Type.Optional(
      Type.Object(
        {
          providers: Type.Optional(count(helpOf("max-providers"), 0, 10_000_000)),
          versionsPerProvider: Type.Optional(count(helpOf("max-versions"), 0, 100_000)),
          archiveBytes: Type.Optional(count(helpOf("max-archive-bytes"), 1, 2 ** 40)),
          blobBytes: Type.Optional(count(helpOf("max-blob-bytes"), 0, Number.MAX_SAFE_INTEGER)),
        },
        { additionalProperties: false },
      ),
    ),
    history: Type.Optional(
      Type.Object(
        {
          commits: Type.Optional(count(helpOf("history-commits"), 1, 10_000_000)),
          mib: Type.Optional(count(helpOf("history-mib"), 1, 1_048_576)),
          hours: Type.Optional(count(helpOf("history-hours"), 1, 876_000)),
        },
        { additionalProperties: false },
      ),
    ),
    plans: Type.Optional(
      Type.Object(
        {
          days: Type.Optional(count(helpOf("plan-days"), 1, 36_500)),
          perStack: Type.Optional(count(helpOf("plans-per-stack"), 1, 100_000)),
        },
        { additionalProperties: false },
      ),
    ),
    runs: Type.Optional(
      Type.Object(
        {
          perStack: Type.Optional(count(helpOf("runs-per-stack"), 1, 100_000)),
          days: Type.Optional(count(helpOf("run-days"), 1, 36_500)),
          logDays: Type.Optional(count(helpOf("run-log-days"), 1, 36_500)),
          planWaitHours: Type.Optional(count(helpOf("plan-wait-hours"), 1, 876_000)),
        },
        { additionalProperties: false },
      ),
    ),
    deleteProvider: Type.Optional(Type.Union([Type.Literal("cascade"), Type.Literal("refuse")])),
    deleteUsed: Type.Optional(
      Type.Union([Type.Literal("allow"), Type.Literal("warn"), Type.Literal("refuse")]),
    ),
    tombstones: Type.Optional(Type.Boolean({ description: helpOf("tombstones") })),
    reservedNamespaces: Type.Optional(
      Type.Array(text("a namespace"), {
        description: helpOf("reserved-namespace"),
        maxItems: 1000,
      }),
    ),
    auditDays: Type.Optional(count(helpOf("audit-days"), 1, 36_500)),
    rateLimit: Type.Optional(
      Type.Object(
        {
          perSecond: Type.Number({
            description: helpOf("rate-per-second"),
            exclusiveMinimum: 0,
            maximum: 1_000_000,
          }),
          burst: Type.Optional(
            Type.Number({ description: helpOf("rate-burst"), minimum: 1, maximum: 1_000_000 }),
          ),
        },
        { additionalProperties: false, description: "requests per account; none by default" },
      ),
    ),
    apiRateLimit: Type.Optional(
      Type.Object(
        {
          perSecond: Type.Optional(
            Type.Number({
              description: helpOf("api-rate-per-second"),
              exclusiveMinimum: 0,
              maximum: 1_000_000,
            }),
          ),
          burst: Type.Optional(
            Type.Number({ description: helpOf("api-rate-burst"), minimum: 1, maximum: 1_000_000 }),
          ),
        },
        {
          additionalProperties: false,
          description: "requests per credential to the API of runs; 200 and 2,000 by default",
        },
      ),
    ),
    healthCheckMinutes: Type.Optional(
      Type.Number({
        description: helpOf("health-check-minutes"),
        minimum: 1,
        // Timers hold 24 days: the pause is a quarter of it, and a longer one would be none.
        maximum: 40_320,
      }),
    ),
    openMetrics: Type.Optional(
      Type.Boolean({ description: "/metrics without a token; true by default" }),
    ),
    trustProxy: Type.Optional(Type.Boolean({ description: helpOf("trust-proxy") })),
    logLevel: Type.Optional(
      Type.Union([
        Type.Literal("fatal"),
        Type.Literal("error"),
        Type.Literal("warn"),
        Type.Literal("info"),
        Type.Literal("debug"),
        Type.Literal("trace"),
        Type.Literal("silent"),
      ]),
    ),
    drainDelayMs: Type.Optional(count(helpOf("drain-delay"), 0, 600_000)),
    drainTimeoutMs: Type.Optional(count(helpOf("drain-timeout"), 0, 600_000)),
  },
  { additionalProperties: false },
);

/** Options of {@link serve}. */
export type ServerOptions = Type.Static<typeof ServerOptionsSchema>;

/** All options, none missing that has a default. */
export interface ResolvedServerOptions extends ServerOptions {
  readonly storeCacheMib: number;
  readonly host: string;
  readonly port: number;
  readonly region: string;
  readonly mirrorHosts: string[];
  readonly logLevel: NonNullable<ServerOptions["logLevel"]>;
  readonly openMetrics: boolean;
  readonly rateLimit?: RateLimit;
  readonly apiRateLimit?: RateLimit;
  readonly drainDelayMs: number;
  readonly drainTimeoutMs: number;
}

/**
 * Checks options and fills in defaults, once, before anything is opened. `ENGINE_CONFIG_INVALID` names
 * every option that is wrong, without its value.
 */
export function resolveServerOptions(options: unknown): ResolvedServerOptions {
  if (!Value.Check(ServerOptionsSchema, options)) {
    const problems = [...Value.Errors(ServerOptionsSchema, options)].map((problem) => {
      const path = problem.instancePath.slice(1).replaceAll("/", ".");
      const flags = missingFlags(path, problem.params);
      return `${path || "options"} ${problem.message}${flags === "" ? "" : ` (${flags})`}`;
    });
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      `the server cannot start: ${problems.join("; ")}`,
      {
        details: { problems },
      },
    );
  }
  const given = options;
  const keys = [given.keyFile, given.keyVariable, given.keyCommand];
  if (keys.filter((source) => source !== undefined).length > 1) {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      "the server cannot start: keyFile, keyVariable and keyCommand exclude each other, as do the options and variables of the environment that give them (--key-file, STACKWRIGHT_SERVE_KEY_FILE, and so on)",
    );
  }
  if (given.store.startsWith("stackwright:")) {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      "the server cannot start: its store is another server, and no token gives access to the credentials, secrets and audit trail of that one; name the database itself (sqlite:FOLDER, postgres://, etcd://), which several servers can share",
      { details: { problems: ["store must not be stackwright:"] } },
    );
  }
  const { rateLimit, apiRateLimit, ...others } = given;
  return {
    ...others,
    ...(rateLimit !== undefined && { rateLimit: withBurst(rateLimit.perSecond, rateLimit.burst) }),
    ...(apiRateLimit !== undefined && {
      apiRateLimit: withBurst(apiRateLimit.perSecond ?? API_RATE, apiRateLimit.burst),
    }),
    storeCacheMib: given.storeCacheMib ?? 128,
    host: given.host ?? "127.0.0.1",
    port: given.port ?? 7400,
    region: given.region ?? "local",
    mirrorHosts: [
      ...(given.publicHost === undefined ? [] : [given.publicHost]),
      ...(given.mirrorHosts ?? []),
    ],
    logLevel: given.logLevel ?? "info",
    openMetrics: given.openMetrics ?? true,
    drainDelayMs: given.drainDelayMs ?? 0,
    drainTimeoutMs: given.drainTimeoutMs ?? 30_000,
  };
}

/** What is wrong with the value of one option, apart from the others and without the value; `undefined` for a valid one. */
export function optionProblem(path: readonly string[], value: unknown): string | undefined {
  const schema = path.reduce<TSchema>(memberOf, ServerOptionsSchema);
  if (Value.Check(schema, value)) return undefined;
  if (Type.IsUnion(schema)) {
    const choices = schema.anyOf.flatMap((one) => (Type.IsLiteral(one) ? [String(one.const)] : []));
    return `takes ${choices.join(", ")}`;
  }
  return Value.Errors(schema, value)
    .map(({ message }) => message)
    .join("; ");
}

function memberOf(schema: TSchema, name: string): TSchema {
  const member = Type.IsObject(schema) ? schema.properties[name] : undefined;
  if (member === undefined) throw new TypeError(`there is no option ${name}`);
  return member;
}

/** Requests per second and credential to the API of runs. */
const API_RATE = 200;
/** How many seconds of its rate a client may use at once. */
const BURST_SECONDS = 10;

function withBurst(perSecond: number, burst: number | undefined): RateLimit {
  return { perSecond, burst: burst ?? Math.min(1_000_000, Math.max(1, perSecond * BURST_SECONDS)) };
}

/** The options of the command that give the members which are missing in an object of options. */
function missingFlags(path: string, params: object): string {
  const missing: unknown = "requiredProperties" in params ? params.requiredProperties : [];
  const names = (Array.isArray(missing) ? missing : []).map((name) =>
    [path, String(name)].filter((part) => part !== "").join("."),
  );
  return Object.entries(SERVE_OPTIONS)
    .filter(([, flag]) => names.includes(flag.path.join(".")))
    .map(([name]) => `--${name}`)
    .join(", ");
}

/** Where the key that encrypts stored secrets comes from; `undefined` where none is configured. */
export function keySourceOf(options: ServerOptions, env: NodeJS.ProcessEnv): KeySource | undefined {
  const { keyFile, keyVariable, keyCommand } = options;
  return sourcesOf(keyFile, keyVariable, keyCommand, env)[0];
}

/** Where the keys come from that only decrypt: those of before a rotation, or the one that the next rotation uses. */
export function formerKeySourcesOf(options: ServerOptions, env: NodeJS.ProcessEnv): KeySource[] {
  const { formerKeyFile, formerKeyVariable, formerKeyCommand } = options;
  return sourcesOf(formerKeyFile, formerKeyVariable, formerKeyCommand, env);
}

function sourcesOf(
  path: string | undefined,
  variable: string | undefined,
  command: readonly string[] | undefined,
  env: NodeJS.ProcessEnv,
): KeySource[] {
  const sources: KeySource[] = [];
  if (path !== undefined) sources.push({ kind: "file", path });
  if (variable !== undefined) sources.push({ kind: "environment", variable, env });
  const [file, ...args] = command ?? [];
  if (file !== undefined) sources.push({ kind: "command", file, args });
  return sources;
}
