import * as pulumirpc from "@stackwright/proto/pulumirpc";
import type { ResourceProvider } from "../resource-provider.ts";
import { decodeJson, encodeJson } from "./proto-json.ts";
import type { JsonObject } from "./vector-file.ts";

/** How a generated service describes a method. */
interface Definition {
  readonly requestSerialize: (message: never) => Uint8Array;
  readonly requestDeserialize: (bytes: Buffer) => unknown;
  readonly responseSerialize: (message: never) => Uint8Array;
  readonly responseDeserialize: (bytes: Buffer) => unknown;
}

/** Full names of the messages of each method, by its name in the protocol. */
const MESSAGES: Readonly<Record<string, readonly [request: string, response: string]>> = {
  Handshake: ["pulumirpc.ProviderHandshakeRequest", "pulumirpc.ProviderHandshakeResponse"],
  Parameterize: ["pulumirpc.ParameterizeRequest", "pulumirpc.ParameterizeResponse"],
  GetSchema: ["pulumirpc.GetSchemaRequest", "pulumirpc.GetSchemaResponse"],
  CheckConfig: ["pulumirpc.CheckRequest", "pulumirpc.CheckResponse"],
  DiffConfig: ["pulumirpc.DiffRequest", "pulumirpc.DiffResponse"],
  Configure: ["pulumirpc.ConfigureRequest", "pulumirpc.ConfigureResponse"],
  Invoke: ["pulumirpc.InvokeRequest", "pulumirpc.InvokeResponse"],
  StreamInvoke: ["pulumirpc.InvokeRequest", "pulumirpc.InvokeResponse"],
  Call: ["pulumirpc.CallRequest", "pulumirpc.CallResponse"],
  Check: ["pulumirpc.CheckRequest", "pulumirpc.CheckResponse"],
  Diff: ["pulumirpc.DiffRequest", "pulumirpc.DiffResponse"],
  Create: ["pulumirpc.CreateRequest", "pulumirpc.CreateResponse"],
  Read: ["pulumirpc.ReadRequest", "pulumirpc.ReadResponse"],
  List: ["pulumirpc.ListRequest", "pulumirpc.ListResponse"],
  Update: ["pulumirpc.UpdateRequest", "pulumirpc.UpdateResponse"],
  Delete: ["pulumirpc.DeleteRequest", "google.protobuf.Empty"],
  Construct: ["pulumirpc.ConstructRequest", "pulumirpc.ConstructResponse"],
  Cancel: ["google.protobuf.Empty", "google.protobuf.Empty"],
  GetPluginInfo: ["google.protobuf.Empty", "pulumirpc.PluginInfo"],
  Attach: ["pulumirpc.PluginAttach", "google.protobuf.Empty"],
  GetMapping: ["pulumirpc.GetMappingRequest", "pulumirpc.GetMappingResponse"],
  GetMappings: ["pulumirpc.GetMappingsRequest", "pulumirpc.GetMappingsResponse"],
};

/** Names of all methods in the protocol. */
export const METHODS = Object.keys(MESSAGES);

/** Name of the function of a method. */
export function functionName(method: string): keyof ResourceProvider {
  return (method.charAt(0).toLowerCase() + method.slice(1)) as keyof ResourceProvider;
}

export function isStream(method: string): method is "List" | "StreamInvoke" {
  return method === "List" || method === "StreamInvoke";
}

function definition(method: string): Definition {
  return pulumirpc.ResourceProviderService[functionName(method)];
}

function typeOf(method: string, side: 0 | 1): string {
  const types = MESSAGES[method];
  if (types === undefined) throw new Error(`the protocol has no method ${method}`);
  return types[side];
}

/** Requests and responses between JSON and the messages of the code under test, always by way of bytes. */
export const requests = {
  toMessage: (method: string, json: JsonObject): unknown =>
    definition(method).requestDeserialize(Buffer.from(encodeJson(typeOf(method, 0), json))),
  toJson: (method: string, message: unknown): JsonObject =>
    decodeJson(typeOf(method, 0), definition(method).requestSerialize(message as never)),
};

export const responses = {
  toMessage: (method: string, json: JsonObject): unknown =>
    definition(method).responseDeserialize(Buffer.from(encodeJson(typeOf(method, 1), json))),
  toJson: (method: string, message: unknown): JsonObject =>
    decodeJson(typeOf(method, 1), definition(method).responseSerialize(message as never)),
};

export function requestType(method: string): string {
  return typeOf(method, 0);
}

export function responseType(method: string): string {
  return typeOf(method, 1);
}
