import { writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSelfSignedIdentity, type RpcAddress, RpcError } from "@stackwright/proto/grpc";
import { TfpluginError } from "../errors.ts";
import { TLS_NAME } from "../launch/plugin-protocol.ts";
import { PrivateFolder } from "../launch/private-folder.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import {
  type ClientRequirements,
  chooseProtocol,
  formatHandshake,
  readClientRequirements,
} from "./handshake.ts";
import { PluginServer } from "./plugin-server.ts";
import { captureStdout, StdioCapture } from "./stdio-capture.ts";

/** Makes the provider, in the version of the protocol that was agreed on. */
export type ProviderFactory = () => PluginTransport | Promise<PluginTransport>;

export interface ServeOptions {
  /** One factory per version that the provider speaks; at least one. */
  readonly protocols: { readonly 5?: ProviderFactory; readonly 6?: ProviderFactory };
  /** How long calls in progress may continue after the client has asked for the end, in milliseconds. @default 1_000 */
  readonly graceMs?: number;
  /** How long to live on after the client is gone, in milliseconds. @default 5_000 */
  readonly orphanMs?: number;
}

const WATCH_MS = 1000;

/**
 * Serves a provider from this process, as its whole purpose: for the main module of an executable that Terraform, or
 * `launchTerraformProvider`, starts. Does not return; the process exits with code 0 when the client asks for it or is
 * gone, and with 1, and an explanation on standard error, where it was not started by one.
 *
 * From the call on, standard output belongs to the handshake; what the program prints there is handed to the client as
 * log. So make the provider in the factory, and import what may print there. SIGINT is ignored, since it reaches
 * Terraform as well, which then sends Stop and waits for the calls under way.
 *
 * Source: HashiCorp's go-plugin as Terraform 1.11 uses it.
 */
export async function serveTerraformProvider(options: ServeOptions): Promise<never> {
  const tap = new StdioCapture();
  captureStdout(process.stdout, tap);
  const parent = process.ppid;
  process.on("SIGINT", () => undefined);
  const terminated = new Promise<void>((resolve) => {
    process.once("SIGTERM", () => resolve());
  });
  await using cleanup = new AsyncDisposableStack();
  try {
    const server = await listen(options, readClientRequirements(process.env), tap, cleanup);
    await Promise.race([terminated, ended(server, parent, options.orphanMs ?? 5000)]);
    await server.close(options.graceMs ?? 1000);
  } catch (error) {
    writeError(error);
    await cleanup.disposeAsync();
    process.exit(1);
  }
  await cleanup.disposeAsync();
  process.exit(0);
}

async function listen(
  { protocols }: ServeOptions,
  wishes: ClientRequirements,
  stdio: StdioCapture,
  cleanup: AsyncDisposableStack,
): Promise<PluginServer> {
  const offered = ([5, 6] as const).filter((version) => protocols[version] !== undefined);
  const make = offered.length > 0 ? protocols[chooseProtocol(wishes, offered)] : undefined;
  if (make === undefined) {
    throw new TfpluginError("TFPLUGIN_OPTIONS_INVALID", "there is no provider to serve");
  }
  const provider = await make();
  const { certificate: trusted } = wishes;
  const identity = trusted === undefined ? undefined : createSelfSignedIdentity({ name: TLS_NAME });
  const server = await startSomewhere(wishes, cleanup, (address) =>
    PluginServer.start({
      provider,
      address,
      ...(identity !== undefined && trusted !== undefined && { tls: { identity, trusted } }),
      stdio,
      onError: writeError,
    }),
  );
  const certificate = identity === undefined ? undefined : String(identity.certificate);
  const { protocol, address } = server;
  // Past the capture, and at once: the client waits for it.
  writeSync(1, formatHandshake({ protocol, address, certificate }));
  return server;
}

async function startSomewhere(
  { socketDirectory, ports }: ClientRequirements,
  cleanup: AsyncDisposableStack,
  start: (address: RpcAddress) => Promise<PluginServer>,
): Promise<PluginServer> {
  if (process.platform !== "win32") {
    const folder = cleanup.use(await PrivateFolder.create(socketDirectory ?? tmpdir()));
    return start({ socketPath: join(folder.path, "plugin") });
  }
  for (let port = ports.from; port < ports.to; port += 1) {
    try {
      return await start({ host: "127.0.0.1", port });
    } catch (error) {
      if (RpcError.from(error).code !== "UNAVAILABLE") throw error;
    }
  }
  const text = `there is no free port from ${ports.from} to ${ports.to}`;
  throw new TfpluginError("TFPLUGIN_OPTIONS_INVALID", text);
}

/**
 * Resolves when the process is no longer needed: the client has asked for the end, its process is gone (this one
 * then belongs to another), or its connection has been lost for a while.
 */
async function ended(server: PluginServer, parent: number, orphanMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setInterval(() => {
    const { lonelySince } = server;
    const isLonely = lonelySince !== undefined && performance.now() - lonelySince > orphanMs;
    if (isLonely || process.ppid !== parent) resolve();
  }, WATCH_MS);
  await Promise.race([server.shutdown, promise]);
  clearInterval(timer);
}

/** For the user, and for the log of the client. */
function writeError(error: unknown): void {
  if (error instanceof TfpluginError) writeSync(2, `${error.message}\n`);
  else writeSync(2, `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
}
