/** Where a server listens: a TCP port of a host, or a unix socket. */
export type RpcAddress =
  | { readonly host: string; readonly port: number }
  | { readonly socketPath: string };

/** The address as grpc-js takes it to connect. IPv6 hosts may be given with or without brackets. */
export function formatTarget(address: RpcAddress): string {
  return "socketPath" in address ? `unix:${address.socketPath}` : `dns:${formatHost(address)}`;
}

/** The address as grpc-js takes it to listen; port 0 lets the system choose. */
export function formatListenAddress(address: RpcAddress): string {
  return "socketPath" in address ? `unix:${address.socketPath}` : formatHost(address);
}

function formatHost({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}
