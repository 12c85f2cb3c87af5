import {
  implementService,
  type RpcServer,
  type ServerInit,
  type ServiceBinding,
  startServer,
} from "@stackwright/proto/grpc";
import { ResourceProviderService } from "@stackwright/proto/pulumirpc";
import { toRpcError } from "../broadcast.ts";
import type { ResourceProvider } from "../resource-provider.ts";

/** A provider as a gRPC service, to be served beside others. */
export function resourceProviderService(provider: ResourceProvider): ServiceBinding {
  return implementService(ResourceProviderService, provider, { mapError: toRpcError });
}

/** Serves a provider over gRPC; by default on a free port of the loopback interface. */
export function serveResourceProvider(
  provider: ResourceProvider,
  init: Omit<ServerInit, "services"> = {},
): Promise<RpcServer> {
  return startServer({ ...init, services: [resourceProviderService(provider)] });
}
