import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BootstrapCredentials,
  type RunningServer,
  type ServerOptions,
  serve,
} from "@stackwright/engine";
import { onTestFinished } from "vitest";

/** A server in this process on a store in memory, which the end of the test stops. */
export async function startServer(
  executor: "in-process" | "none" = "in-process",
  options: Partial<ServerOptions> = {},
): Promise<{
  readonly server: RunningServer;
  readonly token: string;
  readonly credentials: BootstrapCredentials;
}> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "server-"));
  onTestFinished(() => scratch.remove());
  const bootstrapFile = join(scratch.path, "first.json");
  const server = await serve(
    { store: "memory:", port: 0, bootstrapFile, logLevel: "silent", executor, ...options },
    { directory: scratch.path, env: {} },
  );
  onTestFinished(() => server.close());
  const credentials = JSON.parse(await readFile(bootstrapFile, "utf8")) as BootstrapCredentials;
  return { server, token: credentials.token, credentials };
}
