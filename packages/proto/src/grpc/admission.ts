import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
} from "@grpc/grpc-js";
import { isNodeClient, limitErrorSize } from "./node-limits.ts";
import { RpcError, type RpcStatus } from "./rpc-error.ts";

/** What is known of a call before any of its messages was read. */
export interface CallHead {
  /** What the client sent with the call; the handler gets the same object. */
  readonly metadata: Metadata;
  /** Path of the method. */
  readonly method: string;
}

/**
 * Decides by its head whether a call may begin; what it throws, best an {@link RpcError}, is the status
 * of the call. Until it has resolved nothing of the request is read, and nothing at all of a call that
 * it refuses: HTTP/2 flow control stops the client after 64 KiB.
 */
export type Admit = (head: CallHead) => void | Promise<void>;

/** Asks the admission of each method before its call begins. Methods without one are let through. */
export function admissionInterceptor(admissions: ReadonlyMap<string, Admit>): ServerInterceptor {
  return (method, call) => {
    const admit = admissions.get(method.path);
    if (admit === undefined) return new ServerInterceptingCall(call);
    const ask = async (metadata: Metadata): Promise<RpcStatus | undefined> => {
      try {
        await admit({ metadata, method: method.path });
        return undefined;
      } catch (error) {
        const status = RpcError.from(error).toStatus();
        return isNodeClient(metadata) ? limitErrorSize(status) : status;
      }
    };
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, begin) => {
        const decide = async (): Promise<void> => {
          const refusal = await ask(metadata);
          if (refusal === undefined) begin(metadata);
          else call.sendStatus(refusal);
        };
        // Never rejects. grpc-js drops what comes after the client has gone.
        void decide();
      })
      .build();
    return new ServerInterceptingCall(call, { start: (next) => next(listener) });
  };
}
