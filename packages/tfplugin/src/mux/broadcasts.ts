import * as t5 from "@stackwright/proto/tfplugin5";
import * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import type { TransportCall } from "../transport/plugin-transport.ts";
import type { PluginMethod, PluginMethods } from "../wire/methods.ts";
import { combineSchemas, type MemberSchema } from "./combine-schemas.ts";
import {
  askInventory,
  assignOwners,
  type Inventory,
  inventoryOfMetadata,
  inventoryOfSchema,
  type Ownership,
} from "./discovery.ts";
import type { MuxMember } from "./mux-member.ts";

type Answer = (request: Uint8Array, call: TransportCall) => Promise<Uint8Array>;

/** The calls of a mux that are about all of its servers: one after the other, in their order. */
export class Broadcasts {
  readonly #members: readonly MuxMember[];
  readonly #methods: PluginMethods;
  readonly #found: (ownership: Ownership) => void;
  readonly #answers: ReadonlyMap<string, Answer>;

  constructor(
    members: readonly MuxMember[],
    methods: PluginMethods,
    found: (ownership: Ownership) => void,
  ) {
    this.#members = members;
    this.#methods = methods;
    this.#found = found;
    this.#answers = new Map<string, Answer>([
      [methods.getProviderSchema.name, async (_, call) => this.#schema(call)],
      [methods.getMetadata.name, async (_, call) => this.#metadata(call)],
      [methods.getFunctions.name, async (_, call) => this.#functions(call)],
      [methods.getResourceIdentitySchemas.name, async (_, call) => this.#identities(call)],
      [methods.validateProvider.name, async (request, call) => this.#validate(request, call)],
      [methods.configure.name, async (request, call) => this.#configure(request, call)],
      [methods.stop.name, async (request, call) => this.#stop(request, call)],
    ]);
  }

  /** The answer to a call for all; `undefined` where there is no such call. */
  answer(
    method: string,
    request: Uint8Array,
    call: TransportCall,
  ): Promise<Uint8Array> | undefined {
    return this.#answers.get(method)?.(request, call);
  }

  async #schema(call: TransportCall): Promise<Uint8Array> {
    const method = this.#methods.getProviderSchema;
    const schemas: MemberSchema[] = [];
    for (const member of this.#members) {
      schemas.push([member, await this.#ask(member, method, {}, call)]);
    }
    const ownership = assignOwners(
      schemas.map(([member, schema]) => [member, inventoryOfSchema(schema)]),
    );
    this.#found(ownership);
    return method.response.encode(combineSchemas(schemas, ownership.diagnostics)).finish();
  }

  async #metadata(call: TransportCall): Promise<Uint8Array> {
    const { getMetadata } = this.#methods;
    const combined = t6.GetMetadata_Response.fromPartial({
      serverCapabilities: {
        getProviderSchemaOptional: true,
        moveResourceState: true,
        planDestroy: true,
        generateResourceConfig: true,
      },
    });
    const inventories: [MuxMember, Inventory][] = [];
    for (const member of this.#members) {
      const reply = await this.#optional(member, getMetadata, call);
      const inventory =
        reply === undefined
          ? await askInventory(member, this.#methods, call)
          : inventoryOfMetadata(reply);
      combined.diagnostics.push(...(reply?.diagnostics ?? []));
      inventories.push([member, inventory]);
    }
    const ownership = assignOwners(inventories);
    this.#found(ownership);
    combined.diagnostics.push(...ownership.diagnostics);
    const all = (kind: keyof Inventory["names"]) => [
      ...new Set(inventories.flatMap(([, { names }]) => names[kind])),
    ];
    const typeNames = (kind: keyof Inventory["names"]) =>
      all(kind).map((typeName) => ({ typeName }));
    combined.resources = typeNames("resource");
    combined.dataSources = typeNames("dataSource");
    combined.ephemeralResources = typeNames("ephemeralResource");
    combined.listResources = typeNames("listResource");
    combined.actions = typeNames("action");
    combined.stateStores = typeNames("stateStore");
    combined.functions = all("function").map((name) => ({ name }));
    return getMetadata.response.encode(combined).finish();
  }

  async #functions(call: TransportCall): Promise<Uint8Array> {
    const { getFunctions, getProviderSchema } = this.#methods;
    const combined = t6.GetFunctions_Response.fromPartial({});
    for (const member of this.#members) {
      const reply =
        (await this.#optional(member, getFunctions, call)) ??
        (await this.#ask(member, getProviderSchema, {}, call));
      combined.diagnostics.push(...reply.diagnostics);
      for (const [name, declared] of reply.functions) {
        if (!combined.functions.has(name)) combined.functions.set(name, declared);
      }
    }
    return getFunctions.response.encode(combined).finish();
  }

  async #identities(call: TransportCall): Promise<Uint8Array> {
    const { getResourceIdentitySchemas } = this.#methods;
    const combined = t6.GetResourceIdentitySchemas_Response.fromPartial({});
    for (const member of this.#members) {
      const reply = await this.#optional(member, getResourceIdentitySchemas, call);
      combined.diagnostics.push(...(reply?.diagnostics ?? []));
      for (const [name, schema] of reply?.identitySchemas ?? []) {
        if (!combined.identitySchemas.has(name)) combined.identitySchemas.set(name, schema);
      }
    }
    return getResourceIdentitySchemas.response.encode(combined).finish();
  }

  /** What servers make of the configuration is not read: the next call gets the one that was given. */
  async #validate(request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const method = this.#methods.validateProvider;
    const diagnostics: t6.Diagnostic[] = [];
    for (const member of this.#members) {
      const bytes = await member.transport.unary(method.name, request, call);
      diagnostics.push(...method.response.decode(bytes).diagnostics);
    }
    if (method.name !== "PrepareProviderConfig") {
      return method.response.encode({ diagnostics }).finish();
    }
    const { config: preparedConfig } = t5.PrepareProviderConfig_Request.decode(request);
    return t5.PrepareProviderConfig_Response.encode({ preparedConfig, diagnostics }).finish();
  }

  async #configure(request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const method = this.#methods.configure;
    const diagnostics: t6.Diagnostic[] = [];
    for (const member of this.#members) {
      const bytes = await member.transport.unary(method.name, request, call);
      const reply = method.response.decode(bytes);
      diagnostics.push(...reply.diagnostics);
      if (reply.diagnostics.some(({ severity }) => severity === 1)) break;
    }
    return method.response.encode({ diagnostics }).finish();
  }

  /** One that cannot be reached, or does not answer, must not keep the others from stopping. */
  async #stop(request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const method = this.#methods.stop;
    const problems: string[] = [];
    for (const { name, transport } of this.#members) {
      try {
        const bytes = await transport.unary(method.name, request, call);
        const { Error: text } = method.response.decode(bytes);
        if (text !== "") problems.push(text);
      } catch (error) {
        if (TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) continue;
        problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    return method.response.encode({ Error: problems.join("\n") }).finish();
  }

  async #ask<Request, Response>(
    { transport }: MuxMember,
    method: PluginMethod<Request, Response>,
    request: Request,
    call: TransportCall,
  ): Promise<Response> {
    const bytes = await transport.unary(method.name, method.request.encode(request).finish(), call);
    return method.response.decode(bytes);
  }

  /** The answer of a server, or nothing where it does not have the call. */
  async #optional<Response>(
    member: MuxMember,
    method: PluginMethod<object, Response>,
    call: TransportCall,
  ): Promise<Response | undefined> {
    try {
      return await this.#ask(member, method, {}, call);
    } catch (error) {
      if (TfpluginError.is(error, "TFPLUGIN_METHOD_UNIMPLEMENTED")) return undefined;
      throw error;
    }
  }
}
