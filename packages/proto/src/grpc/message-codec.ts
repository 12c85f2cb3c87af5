import { RpcError } from "./rpc-error.ts";
import { asBuffer, type MethodDefinition } from "./service.ts";

/** Throws INTERNAL. */
export function encodeRequest(method: MethodDefinition, request: unknown): Buffer {
  try {
    return asBuffer(method.requestSerialize(request));
  } catch (cause) {
    throw new RpcError("INTERNAL", `cannot write the request of ${method.path}`, { cause });
  }
}

/** Throws INTERNAL. */
export function decodeResponse(method: MethodDefinition, response: Buffer): unknown {
  try {
    return method.responseDeserialize(response);
  } catch (cause) {
    throw new RpcError("INTERNAL", `cannot read the response of ${method.path}`, { cause });
  }
}

/** Throws INTERNAL. */
export function decodeRequest(method: MethodDefinition, request: Buffer): unknown {
  try {
    return method.requestDeserialize(request);
  } catch (cause) {
    throw new RpcError("INTERNAL", `cannot read the request of ${method.path}`, { cause });
  }
}

/** Throws INTERNAL. */
export function encodeResponse(method: MethodDefinition, response: unknown): Buffer {
  try {
    return asBuffer(method.responseSerialize(response));
  } catch (cause) {
    throw new RpcError("INTERNAL", `cannot write the response of ${method.path}`, { cause });
  }
}
