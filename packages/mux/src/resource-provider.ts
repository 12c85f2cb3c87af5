import type { Empty } from "@stackwright/proto/google/protobuf";
import type {
  CallRequest,
  CallResponse,
  CheckRequest,
  CheckResponse,
  ConfigureRequest,
  ConfigureResponse,
  ConstructRequest,
  ConstructResponse,
  CreateRequest,
  CreateResponse,
  DeleteRequest,
  DiffRequest,
  DiffResponse,
  GetMappingRequest,
  GetMappingResponse,
  GetMappingsRequest,
  GetMappingsResponse,
  GetSchemaRequest,
  GetSchemaResponse,
  InvokeRequest,
  InvokeResponse,
  ListRequest,
  ListResponse,
  ParameterizeRequest,
  ParameterizeResponse,
  PluginAttach,
  PluginInfo,
  ProviderHandshakeRequest,
  ProviderHandshakeResponse,
  ReadRequest,
  ReadResponse,
  UpdateRequest,
  UpdateResponse,
} from "@stackwright/proto/pulumirpc";
import type { CallContext } from "./call-context.ts";

/**
 * A server of Pulumi's provider protocol, on decoded messages: what the mux is made of, and what it is. The gRPC
 * server and client, the 2017 adapters and the mux all have this one type, so they can be put together in any way.
 *
 * Properties in messages stay encoded; a server that passes a request on passes them on byte by byte. A method
 * that a server does not have rejects with the status UNIMPLEMENTED. What a server wants its caller to see is a
 * rejection with an `RpcError`; anything else that it throws counts as a crash of that server.
 *
 * Source: Pulumi's provider protocol; StreamInvoke is of older peers.
 */
export interface ResourceProvider {
  handshake(
    request: ProviderHandshakeRequest,
    context: CallContext,
  ): Promise<ProviderHandshakeResponse>;
  parameterize(request: ParameterizeRequest, context: CallContext): Promise<ParameterizeResponse>;
  getSchema(request: GetSchemaRequest, context: CallContext): Promise<GetSchemaResponse>;
  checkConfig(request: CheckRequest, context: CallContext): Promise<CheckResponse>;
  diffConfig(request: DiffRequest, context: CallContext): Promise<DiffResponse>;
  configure(request: ConfigureRequest, context: CallContext): Promise<ConfigureResponse>;
  invoke(request: InvokeRequest, context: CallContext): Promise<InvokeResponse>;
  /** Leaving the iteration cancels the call. */
  streamInvoke(request: InvokeRequest, context: CallContext): AsyncIterable<InvokeResponse>;
  call(request: CallRequest, context: CallContext): Promise<CallResponse>;
  check(request: CheckRequest, context: CallContext): Promise<CheckResponse>;
  diff(request: DiffRequest, context: CallContext): Promise<DiffResponse>;
  create(request: CreateRequest, context: CallContext): Promise<CreateResponse>;
  read(request: ReadRequest, context: CallContext): Promise<ReadResponse>;
  /** Leaving the iteration cancels the call. */
  list(request: ListRequest, context: CallContext): AsyncIterable<ListResponse>;
  update(request: UpdateRequest, context: CallContext): Promise<UpdateResponse>;
  delete(request: DeleteRequest, context: CallContext): Promise<Empty>;
  construct(request: ConstructRequest, context: CallContext): Promise<ConstructResponse>;
  cancel(request: Empty, context: CallContext): Promise<Empty>;
  getPluginInfo(request: Empty, context: CallContext): Promise<PluginInfo>;
  attach(request: PluginAttach, context: CallContext): Promise<Empty>;
  getMapping(request: GetMappingRequest, context: CallContext): Promise<GetMappingResponse>;
  getMappings(request: GetMappingsRequest, context: CallContext): Promise<GetMappingsResponse>;
}

/** Methods that answer with a stream. */
export type StreamMethod = "list" | "streamInvoke";

/** Methods that answer once. */
export type UnaryMethod = Exclude<keyof ResourceProvider, StreamMethod>;

export type ResourceProviderRequest<M extends keyof ResourceProvider> = Parameters<
  ResourceProvider[M]
>[0];
export type ReplyOf<M extends UnaryMethod> = Awaited<ReturnType<ResourceProvider[M]>>;
export type ItemOf<M extends StreamMethod> =
  ReturnType<ResourceProvider[M]> extends AsyncIterable<infer T> ? T : never;
