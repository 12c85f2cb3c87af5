import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** Servers that belong to one test, which may kill and restart them. */
export interface OwnServers extends AsyncDisposable {
  /** Of PostgreSQL: the URL of the database. */
  readonly url: string | undefined;
  /** Of PostgreSQL with a standby: the URL of that. */
  readonly standbyUrl: string | undefined;
  /** Of etcd: the URLs of the members. */
  readonly endpoints: readonly string[];
  readonly servers: readonly { readonly name: string; readonly pid: number }[];
  /** Sends a command: `kill9 0`, `restart 0`, `pause 0`, `resume 0`. */
  command(line: string): Promise<void>;
}

/**
 * Starts servers by the program that `TEST_SERVERS_MAIN` names, or gives `undefined` when there is
 * none. They end with this process at the latest.
 */
export async function startOwnServers(kind: readonly string[]): Promise<OwnServers | undefined> {
  const main = process.env.TEST_SERVERS_MAIN;
  if (main === undefined) return undefined;
  // The program starts etcd only where there is one.
  if (kind[0] === "etcd" && process.env.TEST_ETCD_BIN === undefined) return undefined;
  const child = spawn(process.execPath, [main, "serve", ...kind], {
    stdio: ["pipe", "pipe", "inherit"],
  }) as unknown as ChildProcessWithoutNullStreams;
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async (): Promise<Record<string, unknown>> => {
    const line = await lines.next();
    if (line.done === true) throw new Error("the test servers ended");
    return JSON.parse(line.value) as Record<string, unknown>;
  };
  const started = (await read()) as Partial<
    Pick<OwnServers, "url" | "standbyUrl" | "endpoints" | "servers">
  >;
  let last: Promise<unknown> = Promise.resolve();
  const command = (line: string): Promise<void> => {
    const run = async (): Promise<void> => {
      child.stdin.write(`${line}\n`);
      const answer = await read();
      if (answer.ok !== true) throw new Error(`${line}: ${String(answer.error)}`);
    };
    const answered = last.then(run);
    last = answered.catch(() => undefined);
    return answered;
  };
  return {
    url: started.url,
    standbyUrl: started.standbyUrl,
    endpoints: started.endpoints ?? [],
    servers: started.servers ?? [],
    command,
    [Symbol.asyncDispose]: async () => {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await exited;
    },
  };
}
