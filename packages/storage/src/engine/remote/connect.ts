import { type ChannelTls, openChannel, type RpcChannel } from "@stackwright/proto/grpc";

/** How a client reaches a service of this package. */
export interface RemoteConnectionOptions {
  /** Where the service is: host and port, or the path of a unix socket. */
  readonly address:
    | { readonly host: string; readonly port: number }
    | { readonly socketPath: string };
  /** Says who the caller is; see `authorize` of the service. */
  readonly token?: string;
  /** Encrypts and authenticates; without it the connection is in the clear. */
  readonly tls?: ChannelTls;
  /** How long a call may take; a write has as much again for every 8 MiB. @default 10,000 */
  readonly timeoutMs?: number;
}

/** What calls are made with. */
export interface RemoteConnection {
  readonly channel: RpcChannel;
  /** Sent with every call. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** A channel that notices broken connections and comes back soon. It connects with the first call. */
export function openConnection(options: RemoteConnectionOptions): RemoteConnection {
  const { address, token, tls, timeoutMs = 10_000 } = options;
  const channel = openChannel(address, {
    ...(tls === undefined ? {} : { tls }),
    options: {
      "grpc.keepalive_time_ms": 30_000,
      "grpc.keepalive_timeout_ms": 10_000,
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 1_000,
    },
  });
  const metadata = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { channel, metadata, timeoutMs };
}
