import type { KeySource } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { Type } from "typebox";
import { Value } from "typebox/value";

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });
const count = (description: string, minimum: number, maximum: number) =>
  Type.Integer({ description, minimum, maximum });

/** Options of a server: from a file, from the options of the command, or from a program. */
export const ServerOptionsSchema = Type.Object(
  {
    store: text("address of the store: sqlite:FOLDER, postgres://, etcd:// or memory:"),
    host: Type.Optional(text("address to listen on; 127.0.0.1 by default")),
    port: Type.Optional(count("port of HTTP; 7400 by default, 0 for any", 0, 65_535)),
    storagePort: Type.Optional(
      count("port of the storage service; none by default, 0 for any", 0, 65_535),
    ),
    region: Type.Optional(
      Type.String({
        description: "the region that this server is; functions of others are refused",
        pattern: "^[a-z0-9][a-z0-9-]{0,63}$",
      }),
    ),
    publicHost: Type.Optional(
      text("host under which clients see this server, with its port unless that is 443"),
    ),
    mirrorHosts: Type.Optional(
      Type.Array(text("a host"), { description: "further hosts that the mirror answers for" }),
    ),
    blobDirectory: Type.Optional(text("folder for blobs, for stores that cannot hold them")),
    tls: Type.Optional(
      Type.Object(
        {
          certificateFile: text("certificate chain in PEM"),
          keyFile: text("private key in PEM"),
        },
        { additionalProperties: false },
      ),
    ),
    withoutTls: Type.Optional(
      Type.Boolean({
        description: "listen for other machines in the clear, behind a proxy with TLS",
      }),
    ),
    keyFile: Type.Optional(text("file with the key that encrypts stored secrets")),
    keyVariable: Type.Optional(text("environment variable with that key")),
    keyCommand: Type.Optional(
      Type.Array(text("a word"), { description: "command that prints that key", minItems: 1 }),
    ),
    formerKeyFile: Type.Optional(text("file with a key that only decrypts stored secrets")),
    formerKeyVariable: Type.Optional(text("environment variable with such a key")),
    formerKeyCommand: Type.Optional(
      Type.Array(text("a word"), { description: "command that prints such a key", minItems: 1 }),
    ),
    bootstrapFile: Type.Optional(
      text("file for the first token and access key, written if there are none yet"),
    ),
    executor: Type.Optional(
      Type.Union([Type.Literal("child"), Type.Literal("in-process"), Type.Literal("none")], {
        description:
          "where runs are executed: in child processes (default), in the server (default of memory:), or nowhere",
      }),
    ),
    runDirectory: Type.Optional(text("folder of the executors; runs in the store's by default")),
    runCapacity: Type.Optional(
      count("steps of runs that are executed at the same time; the cores by default", 1, 1_000),
    ),
    runLimits: Type.Optional(
      Type.Object(
        {
          planMinutes: Type.Optional(
            count("how long a plan may take, or a recovery; 60 by default", 1, 10_080),
          ),
          applyMinutes: Type.Optional(
            count("how long an apply may take; 360 by default", 1, 10_080),
          ),
          stopSeconds: Type.Optional(
            count("what a step has to stop until it is ended; 300 by default", 0, 86_400),
          ),
          memoryMib: Type.Optional(
            count(
              "MiB of memory of the processes of a step; half of the machine's by default",
              256,
              16_777_216,
            ),
          ),
        },
        { additionalProperties: false, description: "limits of each step of a run" },
      ),
    ),
    provisionerProjects: Type.Optional(
      Type.Array(Type.String({ pattern: "^[^/]+/[^/]+$", maxLength: 512 }), {
        description:
          "projects whose runs may execute provisioners, as ACCOUNT/PROJECT; none by default",
        maxItems: 1000,
      }),
    ),
    functionsFile: Type.Optional(
      text("table of functions: with it, providers behind functions are installed and checked"),
    ),
    quotas: Type.Optional(
      Type.Object(
        {
          providers: Type.Optional(count("private providers per account", 0, 10_000_000)),
          versionsPerProvider: Type.Optional(count("versions per provider", 0, 100_000)),
          archiveBytes: Type.Optional(count("bytes of a published archive", 1, 2 ** 40)),
          blobBytes: Type.Optional(
            count("bytes of all blobs of an account", 0, Number.MAX_SAFE_INTEGER),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    plans: Type.Optional(
      Type.Object(
        {
          days: Type.Optional(count("days that saved plans stay; 30 by default", 1, 36_500)),
          perStack: Type.Optional(
            count("newest saved plans of a stack that stay; 100 by default", 1, 100_000),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    runs: Type.Optional(
      Type.Object(
        {
          perStack: Type.Optional(
            count("newest ended runs of a stack that stay; 200 by default", 1, 100_000),
          ),
          days: Type.Optional(count("days that ended runs stay; 400 by default", 1, 36_500)),
          logDays: Type.Optional(
            count("days that the events of ended runs stay; 90 by default", 1, 36_500),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    deleteProvider: Type.Optional(Type.Union([Type.Literal("cascade"), Type.Literal("refuse")])),
    deleteUsed: Type.Optional(
      Type.Union([Type.Literal("allow"), Type.Literal("warn"), Type.Literal("refuse")]),
    ),
    tombstones: Type.Optional(
      Type.Boolean({ description: "deleted version numbers stay taken; false by default" }),
    ),
    reservedNamespaces: Type.Optional(
      Type.Array(text("a namespace"), {
        description: "namespaces that operators alone grant, beyond the well-known ones",
        maxItems: 1000,
      }),
    ),
    auditDays: Type.Optional(count("days that audit entries are kept", 1, 36_500)),
    rateLimit: Type.Optional(
      Type.Object(
        {
          perSecond: Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 }),
          burst: Type.Number({ minimum: 1, maximum: 1_000_000 }),
        },
        { additionalProperties: false, description: "requests per account; none by default" },
      ),
    ),
    apiRateLimit: Type.Optional(
      Type.Object(
        {
          perSecond: Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 }),
          burst: Type.Number({ minimum: 1, maximum: 1_000_000 }),
        },
        {
          additionalProperties: false,
          description: "requests per credential to the API of runs; 200 and 2,000 by default",
        },
      ),
    ),
    healthCheckMinutes: Type.Optional(
      Type.Number({
        description: "how often functions are checked, up to four weeks; never by default",
        minimum: 1,
        // Timers hold 24 days: the pause is a quarter of it, and a longer one would be none.
        maximum: 40_320,
      }),
    ),
    openMetrics: Type.Optional(
      Type.Boolean({ description: "/metrics without a token; true by default" }),
    ),
    trustProxy: Type.Optional(
      Type.Boolean({ description: "take the client's address from X-Forwarded-For" }),
    ),
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
    drainDelayMs: Type.Optional(
      count("how long /readyz says no before connections are refused; 0 by default", 0, 600_000),
    ),
    drainTimeoutMs: Type.Optional(
      count("how long requests in progress may continue; 30,000 by default", 0, 600_000),
    ),
  },
  { additionalProperties: false },
);

/** Options of {@link serve}. */
export type ServerOptions = Type.Static<typeof ServerOptionsSchema>;

/** All options, none missing that has a default. */
export interface ResolvedServerOptions extends ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly region: string;
  readonly mirrorHosts: string[];
  readonly logLevel: NonNullable<ServerOptions["logLevel"]>;
  readonly openMetrics: boolean;
  readonly drainDelayMs: number;
  readonly drainTimeoutMs: number;
}

/**
 * Checks options and fills in defaults, once, before anything is opened. `ENGINE_CONFIG_INVALID` names
 * every option that is wrong, without its value.
 */
export function resolveServerOptions(options: unknown): ResolvedServerOptions {
  if (!Value.Check(ServerOptionsSchema, options)) {
    const problems = [...Value.Errors(ServerOptionsSchema, options)].map(
      ({ instancePath, message }) =>
        `${instancePath.slice(1).replaceAll("/", ".") || "options"} ${message}`,
    );
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
      "the server cannot start: keyFile, keyVariable and keyCommand exclude each other",
    );
  }
  if (given.store.startsWith("stackwright:")) {
    throw new EngineError(
      "ENGINE_CONFIG_INVALID",
      "the server cannot start: its store is another server, and no token gives access to the credentials, secrets and audit trail of that one; name the database itself (sqlite:FOLDER, postgres://, etcd://), which several servers can share",
      { details: { problems: ["store must not be stackwright:"] } },
    );
  }
  return {
    ...given,
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
