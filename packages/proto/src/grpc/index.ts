export { Metadata } from "@grpc/grpc-js";
export type { RpcAddress } from "./address.ts";
export { formatListenAddress, formatTarget } from "./address.ts";
export type { Admit, CallHead } from "./admission.ts";
export type { SelfSignedOptions } from "./certificate.ts";
export { createSelfSignedIdentity } from "./certificate.ts";
export type { ChannelInit, ChannelWaitOptions, RpcChannel } from "./channel.ts";
export { openChannel } from "./channel.ts";
export type { ClientMethod, RpcClient } from "./client.ts";
export { createClient } from "./client.ts";
export type { RpcCallOptions } from "./client-call.ts";
export type { RpcCode } from "./codes.ts";
export { RPC_CODES, rpcCodeOf } from "./codes.ts";
export type {
  RpcHandler,
  ServiceBinding,
  ServiceImplementation,
  ServiceOptions,
  SingleHandler,
  StreamHandler,
} from "./implement.ts";
export { implementService } from "./implement.ts";
export type { MetadataInit } from "./metadata.ts";
export { createMetadata } from "./metadata.ts";
export type { ResponseStream } from "./response-stream.ts";
export type { RpcErrorOptions, RpcStatus } from "./rpc-error.ts";
export { RpcError } from "./rpc-error.ts";
export type { CloseOptions, RpcServer, ServerInit } from "./server.ts";
export { startServer } from "./server.ts";
export type { HandlerContext, HandlerOptions } from "./server-call.ts";
export type {
  Messages,
  MethodDefinition,
  RequestOf,
  ResponseOf,
  ServiceDefinition,
} from "./service.ts";
export { DEFAULT_BUFFER_BYTES, MAX_MESSAGE_BYTES } from "./service.ts";
export type { DetailType, MessageCodec, StatusDetail } from "./status-details.ts";
export { createDetail, detailType, isDetail, STATUS_DETAILS_KEY } from "./status-details.ts";
export type { ChannelTls, Pem, ServerTls, TlsIdentity } from "./tls.ts";
export { channelCredentials, serverCredentials } from "./tls.ts";
