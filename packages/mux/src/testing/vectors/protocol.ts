import * as cocorpc from "@stackwright/proto/cocorpc";
import * as pulumirpc from "@stackwright/proto/pulumirpc";
import { decodeJson, encodeJson } from "./proto-json.ts";
import type { JsonObject } from "./vector-file.ts";

/** How a generated service describes a method. */
interface Definition {
  readonly requestSerialize: (message: never) => Uint8Array;
  readonly requestDeserialize: (bytes: Buffer) => unknown;
  readonly responseSerialize: (message: never) => Uint8Array;
  readonly responseDeserialize: (bytes: Buffer) => unknown;
}

type Messages = Readonly<Record<string, readonly [request: string, response: string]>>;

/** A protocol of vectors: its methods, and their messages between JSON and the code under test, by way of bytes. */
export class Protocol {
  readonly #messages: Messages;
  readonly #service: Readonly<Record<string, Definition>>;

  constructor(messages: Messages, service: object) {
    this.#messages = messages;
    this.#service = service as Readonly<Record<string, Definition>>;
  }

  /** Names of all methods in the protocol. */
  get methods(): readonly string[] {
    return Object.keys(this.#messages);
  }

  requestType(method: string): string {
    return this.#types(method)[0];
  }

  responseType(method: string): string {
    return this.#types(method)[1];
  }

  toRequest(method: string, json: JsonObject): unknown {
    const bytes = encodeJson(this.requestType(method), json);
    return this.#definition(method).requestDeserialize(Buffer.from(bytes));
  }

  fromRequest(method: string, message: unknown): JsonObject {
    const bytes = this.#definition(method).requestSerialize(message as never);
    return decodeJson(this.requestType(method), bytes);
  }

  toResponse(method: string, json: JsonObject): unknown {
    const bytes = encodeJson(this.responseType(method), json);
    return this.#definition(method).responseDeserialize(Buffer.from(bytes));
  }

  fromResponse(method: string, message: unknown): JsonObject {
    const bytes = this.#definition(method).responseSerialize(message as never);
    return decodeJson(this.responseType(method), bytes);
  }

  #definition(method: string): Definition {
    const definition = this.#service[functionName(method)];
    if (definition === undefined) throw new Error(`the protocol has no method ${method}`);
    return definition;
  }

  #types(method: string): readonly [request: string, response: string] {
    const types = this.#messages[method];
    if (types === undefined) throw new Error(`the protocol has no method ${method}`);
    return types;
  }
}

/** Name of the function of a method. */
export function functionName(method: string): string {
  return method.charAt(0).toLowerCase() + method.slice(1);
}

export function isStream(method: string): method is "List" | "StreamInvoke" {
  return method === "List" || method === "StreamInvoke";
}

const PULUMIRPC = new Protocol(
  {
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
  },
  pulumirpc.ResourceProviderService,
);

const COCORPC = new Protocol(
  {
    Check: ["cocorpc.CheckRequest", "cocorpc.CheckResponse"],
    Name: ["cocorpc.NameRequest", "cocorpc.NameResponse"],
    Create: ["cocorpc.CreateRequest", "cocorpc.CreateResponse"],
    Get: ["cocorpc.GetRequest", "cocorpc.GetResponse"],
    PreviewUpdate: ["cocorpc.UpdateRequest", "cocorpc.PreviewUpdateResponse"],
    Update: ["cocorpc.UpdateRequest", "google.protobuf.Empty"],
    Delete: ["cocorpc.DeleteRequest", "google.protobuf.Empty"],
  },
  cocorpc.ResourceProviderService,
);

/** The protocols whose vectors run in this package. */
export const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  pulumirpc: PULUMIRPC,
  cocorpc: COCORPC,
};
