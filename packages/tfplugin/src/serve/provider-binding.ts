import {
  implementService,
  RpcError,
  type ServiceBinding,
  type SingleHandler,
} from "@stackwright/proto/grpc";
import { ProviderService as ProviderService5 } from "@stackwright/proto/tfplugin5";
import { ProviderService as ProviderService6 } from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";

const pass = (bytes: Uint8Array): Uint8Array => bytes;

/** Notified of the calls that are being answered. */
interface CallCounter {
  begin(): void;
  end(): void;
}

/**
 * A provider as a gRPC service. Messages pass as they are. A method that the provider does not have answers
 * UNIMPLEMENTED, as does every one that streams where the provider has no such streams.
 */
export function bindProvider(
  provider: PluginTransport,
  calls: CallCounter,
  onError: (error: unknown) => void,
): ServiceBinding {
  const service = provider.protocol === 5 ? ProviderService5 : ProviderService6;
  const raw: Record<string, RawMethod> = {};
  const handlers: Record<string, unknown> = {};
  for (const [name, { path, requestStream, responseStream }] of Object.entries(service)) {
    const codec = { requestSerialize: pass, requestDeserialize: pass };
    const answer = { responseSerialize: pass, responseDeserialize: pass };
    raw[name] = { path, requestStream, responseStream, ...codec, ...answer };
    const method = path.slice(path.lastIndexOf("/") + 1);
    if (requestStream) {
      if (provider.clientStream !== undefined) {
        handlers[name] = clientStreamHandler(provider, method, calls);
      }
    } else if (!responseStream) handlers[name] = unaryHandler(provider, method, calls);
    else if (provider.stream !== undefined) handlers[name] = streamHandler(provider, method, calls);
  }
  // The types follow from constants of a definition; these definitions are made here.
  return implementService(raw, handlers as Record<string, SingleHandler<Uint8Array, Uint8Array>>, {
    mapError: (error) => {
      const failure = toRpcError(error);
      if (failure.code !== "UNIMPLEMENTED" && failure.code !== "CANCELLED") onError(error);
      return failure;
    },
  });
}

interface RawMethod {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(bytes: Uint8Array): Uint8Array;
  requestDeserialize(bytes: Uint8Array): Uint8Array;
  responseSerialize(bytes: Uint8Array): Uint8Array;
  responseDeserialize(bytes: Uint8Array): Uint8Array;
}

interface Context {
  readonly signal: AbortSignal;
}

function unaryHandler(provider: PluginTransport, method: string, calls: CallCounter) {
  return async (request: Uint8Array, { signal }: Context): Promise<Uint8Array> => {
    calls.begin();
    try {
      return await provider.unary(method, request, { signal });
    } finally {
      calls.end();
    }
  };
}

function clientStreamHandler(provider: PluginTransport, method: string, calls: CallCounter) {
  return async (requests: AsyncIterable<Uint8Array>, { signal }: Context): Promise<Uint8Array> => {
    calls.begin();
    try {
      const { clientStream } = provider;
      if (clientStream === undefined) throw new TypeError(`${method} has no handler`);
      return await clientStream(method, requests, { signal });
    } finally {
      calls.end();
    }
  };
}

function streamHandler(provider: PluginTransport, method: string, calls: CallCounter) {
  return async function* stream(
    request: Uint8Array,
    { signal }: Context,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    calls.begin();
    try {
      yield* provider.stream?.(method, request, { signal }) ?? [];
    } finally {
      calls.end();
    }
  };
}

/** The status under which an error of the provider goes over the wire. */
function toRpcError(error: unknown): RpcError {
  if (error instanceof TfpluginError) {
    return new RpcError(error.status, error.message, { cause: error });
  }
  return RpcError.from(error, "INTERNAL");
}
