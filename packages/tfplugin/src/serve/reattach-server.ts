import { tmpdir } from "node:os";
import { join } from "node:path";
import { PrivateFolder } from "../launch/private-folder.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { PluginServer } from "./plugin-server.ts";

export interface ReattachServerOptions {
  /** Address of the provider, as templates name it: `registry.terraform.io/acme/thing`. */
  readonly name: string;
  /** Closed with the server. */
  readonly provider: PluginTransport;
  /** Where the private folder of the socket is made. @default that of the system for temporary files */
  readonly runtimeDirectory?: string;
  readonly onError?: (error: unknown) => void;
}

/** A provider in this process to which Terraform connects instead of starting one. */
export interface ReattachServer extends AsyncDisposable {
  /** For the environment of the command. */
  readonly variable: { readonly TF_REATTACH_PROVIDERS: string };
  close(): Promise<void>;
}

/**
 * Serves a provider from within this process, for `TF_REATTACH_PROVIDERS`: for tests, and for debugging. The connection
 * is in the clear, over a socket in a folder that only this user can enter.
 *
 * Source: Terraform's reattach configuration.
 */
export async function startReattachServer(options: ReattachServerOptions): Promise<ReattachServer> {
  const { name, provider, runtimeDirectory = tmpdir(), onError } = options;
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await PrivateFolder.create(runtimeDirectory));
  const socketPath = join(folder.path, "plugin");
  const address = { socketPath };
  cleanup.use(
    await PluginServer.start({ provider, address, ...(onError !== undefined && { onError }) }),
  );
  const entry = {
    Protocol: "grpc",
    ProtocolVersion: provider.protocol,
    Pid: process.pid,
    Test: true,
    Addr: { Network: "unix", String: socketPath },
  };
  const held = cleanup.move();
  const close = (): Promise<void> => held.disposeAsync();
  return {
    variable: { TF_REATTACH_PROVIDERS: JSON.stringify({ [name]: entry }) },
    close,
    [Symbol.asyncDispose]: close,
  };
}
