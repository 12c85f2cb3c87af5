import { createClient, type RpcChannel } from "@stackwright/proto/grpc";
import { ResourceProviderService } from "@stackwright/proto/pulumirpc";
import type { ResourceProvider } from "../resource-provider.ts";
import { toCallOptions } from "./call-options.ts";

/**
 * A provider behind a gRPC channel. Metadata, deadline and cancellation of each call go along; error codes, texts
 * and details come back as they were sent. The channel belongs to the caller.
 */
export function createResourceProviderClient(channel: RpcChannel): ResourceProvider {
  const client = createClient(ResourceProviderService, channel);
  return {
    handshake: (request, context) => client.handshake(request, toCallOptions(context)),
    parameterize: (request, context) => client.parameterize(request, toCallOptions(context)),
    getSchema: (request, context) => client.getSchema(request, toCallOptions(context)),
    checkConfig: (request, context) => client.checkConfig(request, toCallOptions(context)),
    diffConfig: (request, context) => client.diffConfig(request, toCallOptions(context)),
    configure: (request, context) => client.configure(request, toCallOptions(context)),
    invoke: (request, context) => client.invoke(request, toCallOptions(context)),
    streamInvoke: (request, context) => client.streamInvoke(request, toCallOptions(context)),
    call: (request, context) => client.call(request, toCallOptions(context)),
    check: (request, context) => client.check(request, toCallOptions(context)),
    diff: (request, context) => client.diff(request, toCallOptions(context)),
    create: (request, context) => client.create(request, toCallOptions(context)),
    read: (request, context) => client.read(request, toCallOptions(context)),
    list: (request, context) => client.list(request, toCallOptions(context)),
    update: (request, context) => client.update(request, toCallOptions(context)),
    delete: (request, context) => client.delete(request, toCallOptions(context)),
    construct: (request, context) => client.construct(request, toCallOptions(context)),
    cancel: (request, context) => client.cancel(request, toCallOptions(context)),
    getPluginInfo: (request, context) => client.getPluginInfo(request, toCallOptions(context)),
    attach: (request, context) => client.attach(request, toCallOptions(context)),
    getMapping: (request, context) => client.getMapping(request, toCallOptions(context)),
    getMappings: (request, context) => client.getMappings(request, toCallOptions(context)),
  };
}
