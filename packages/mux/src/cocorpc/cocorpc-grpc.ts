import { ResourceProviderService } from "@stackwright/proto/cocorpc";
import {
  createClient,
  implementService,
  type RpcChannel,
  type RpcServer,
  type ServerInit,
  startServer,
} from "@stackwright/proto/grpc";
import { toRpcError } from "../broadcast.ts";
import { toCallOptions } from "../grpc/call-options.ts";
import type { CocorpcProvider } from "./cocorpc-provider.ts";

/** A 2017 provider behind a gRPC channel, which belongs to the caller. */
export function createCocorpcClient(channel: RpcChannel): CocorpcProvider {
  const client = createClient(ResourceProviderService, channel);
  return {
    check: (request, context) => client.check(request, toCallOptions(context)),
    name: (request, context) => client.name(request, toCallOptions(context)),
    create: (request, context) => client.create(request, toCallOptions(context)),
    get: (request, context) => client.get(request, toCallOptions(context)),
    previewUpdate: (request, context) => client.previewUpdate(request, toCallOptions(context)),
    update: (request, context) => client.update(request, toCallOptions(context)),
    delete: (request, context) => client.delete(request, toCallOptions(context)),
  };
}

/** Serves a 2017 provider over gRPC; by default on a free port of the loopback interface. */
export function serveCocorpcProvider(
  provider: CocorpcProvider,
  init: Omit<ServerInit, "services"> = {},
): Promise<RpcServer> {
  const service = implementService(ResourceProviderService, provider, { mapError: toRpcError });
  return startServer({ ...init, services: [service] });
}
