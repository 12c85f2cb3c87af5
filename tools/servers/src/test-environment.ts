import { join } from "node:path";
import { buildTools, discoverTools, toolVariable } from "@stackwright-tools/go";
import { ensurePostgres } from "./ensure-postgres.ts";
import { startEtcd } from "./etcd.ts";
import { packagedPrograms } from "./packaged-programs.ts";
import { startPostgres } from "./postgres.ts";
import { findPostgres, type PostgresInstallation } from "./postgres-installation.ts";

/** Which servers and programs a command is given. */
interface TestEnvironmentOptions {
  /** @default both */
  readonly servers?: readonly ("postgres" | "etcd")[] | undefined;
  /** Names of Go tools to build and pass on, or all of them. @default the required ones */
  readonly tools?: readonly string[] | "all" | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Receives the started servers, and the missing ones with the reason. */
  readonly say: (text: string) => void;
}

/** Variables for the tests, and the servers behind them. */
interface TestEnvironment extends AsyncDisposable {
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Starts the servers that live tests use and names them in environment variables (the table is in
 * `tools/README.md`). What this machine does not have gets no variable, so that its tests skip;
 * a server that is there and does not start is an error.
 */
export async function startTestEnvironment(
  options: TestEnvironmentOptions,
): Promise<TestEnvironment> {
  const servers = options.servers ?? ["postgres", "etcd"];
  const variables: Record<string, string> = {
    TEST_SERVERS_MAIN: join(import.meta.dirname, "main.ts"),
    ...packagedPrograms(),
  };
  await using stack = new AsyncDisposableStack();
  await addTools(variables, options, servers.includes("etcd"));
  await all([
    ...(servers.includes("postgres") ? addPostgres(variables, options, stack) : []),
    ...(servers.includes("etcd") ? addEtcd(variables, options, stack) : []),
  ]);
  const owned = stack.move();
  return { variables, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function addTools(
  variables: Record<string, string>,
  { tools, signal, say }: TestEnvironmentOptions,
  needEtcd: boolean,
): Promise<void> {
  const wanted = discoverTools().filter(
    ({ name, required }) =>
      tools === "all" || (tools?.includes(name) ?? required) || (needEtcd && name === "etcd"),
  );
  const results = await buildTools(wanted, {
    ...(signal ? { signal } : {}),
    onBuild: ({ name, version }) => say(`building ${name} ${version}`),
  });
  for (const result of results) {
    if (result.status === "failed") {
      say(`${result.name}: not built (${result.reason}): ${result.message}`);
    } else {
      variables[toolVariable(result.name)] = result.path;
    }
  }
  signal?.throwIfAborted();
}

function addPostgres(
  variables: Record<string, string>,
  { signal, say }: TestEnvironmentOptions,
  stack: AsyncDisposableStack,
): Promise<void>[] {
  ensurePostgres(say);
  const installations = findPostgres();
  const oldest = installations[0];
  const newest = installations.at(-1);
  if (!oldest || !newest) {
    say("PostgreSQL: none here");
    return [];
  }
  const start = async (prefix: string, installation: PostgresInstallation) => {
    const server = stack.use(await startPostgres({ installation, signal }));
    variables[`${prefix}_URL`] = server.url;
    variables[`${prefix}_BIN`] = installation.bin;
    say(`PostgreSQL ${server.version} on port ${server.port}`);
  };
  return [
    start("TEST_POSTGRES", oldest),
    ...(newest === oldest ? [] : [start("TEST_POSTGRES_NEWEST", newest)]),
  ];
}

function addEtcd(
  variables: Record<string, string>,
  { signal, say }: TestEnvironmentOptions,
  stack: AsyncDisposableStack,
): Promise<void>[] {
  const bin = variables[toolVariable("etcd")];
  if (bin === undefined) return [];
  variables.TEST_ETCD_BIN = bin;
  const start = async (variable: string, members: number) => {
    const cluster = stack.use(await startEtcd({ bin, members, signal }));
    variables[variable] = cluster.endpoints.join(",");
    say(`etcd, ${members === 1 ? "one member" : `${members} members`}: ${variables[variable]}`);
  };
  return [start("TEST_ETCD_ENDPOINTS", 1), start("TEST_ETCD_CLUSTER_ENDPOINTS", 3)];
}

/** Waits for all, so that none starts behind our back, and then fails as the first did. */
async function all(starts: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(starts);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
