import { type CallOptions, createClient, Metadata, type RpcChannel } from "@stackwright/proto/grpc";
import { ResourceProviderService } from "@stackwright/proto/pulumirpc";
import type { CallContext } from "../call-context.ts";
import type { ResourceProvider } from "../resource-provider.ts";

/**
 * A provider behind a gRPC channel. Metadata, deadline and cancellation of each call go along; error codes, texts
 * and details come back as they were sent. The channel belongs to the caller.
 */
export function createResourceProviderClient(channel: RpcChannel): ResourceProvider {
  const client = createClient(ResourceProviderService, channel);
  return {
    handshake: (request, context) => client.handshake(request, toOptions(context)),
    parameterize: (request, context) => client.parameterize(request, toOptions(context)),
    getSchema: (request, context) => client.getSchema(request, toOptions(context)),
    checkConfig: (request, context) => client.checkConfig(request, toOptions(context)),
    diffConfig: (request, context) => client.diffConfig(request, toOptions(context)),
    configure: (request, context) => client.configure(request, toOptions(context)),
    invoke: (request, context) => client.invoke(request, toOptions(context)),
    streamInvoke: (request, context) => client.streamInvoke(request, toOptions(context)),
    call: (request, context) => client.call(request, toOptions(context)),
    check: (request, context) => client.check(request, toOptions(context)),
    diff: (request, context) => client.diff(request, toOptions(context)),
    create: (request, context) => client.create(request, toOptions(context)),
    read: (request, context) => client.read(request, toOptions(context)),
    list: (request, context) => client.list(request, toOptions(context)),
    update: (request, context) => client.update(request, toOptions(context)),
    delete: (request, context) => client.delete(request, toOptions(context)),
    construct: (request, context) => client.construct(request, toOptions(context)),
    cancel: (request, context) => client.cancel(request, toOptions(context)),
    getPluginInfo: (request, context) => client.getPluginInfo(request, toOptions(context)),
    attach: (request, context) => client.attach(request, toOptions(context)),
    getMapping: (request, context) => client.getMapping(request, toOptions(context)),
    getMappings: (request, context) => client.getMappings(request, toOptions(context)),
  };
}

function toOptions({ signal, metadata, deadline }: CallContext): CallOptions {
  return {
    ...(signal && { signal }),
    ...(metadata && { metadata: forwarded(metadata) }),
    ...(deadline && { deadline }),
  };
}

/** Headers that speak of one connection alone. */
const OF_THE_CONNECTION = new Set(["user-agent", "content-type", "te", "accept-encoding", "host"]);

function forwarded(metadata: Metadata): Metadata {
  const copy = new Metadata();
  for (const key of Object.keys(metadata.getMap())) {
    if (OF_THE_CONNECTION.has(key) || key.startsWith("grpc-")) continue;
    for (const value of metadata.get(key)) copy.add(key, value);
  }
  return copy;
}
