import {
  type CallFunctionReply,
  type CallFunctionRequest,
  type FunctionSchema,
  hasProviderErrors,
  type LifecycleContext,
  type ReadDataReply,
  type ReadDataRequest,
  type Reply,
  type ValidateResourceRequest,
} from "@stackwright/mux/router";
import { TfpluginError } from "../errors.ts";
import { deferralFromWire, diagnosticsFromWire } from "../wire/replies.ts";
import { capabilities, withDeferral } from "./resource-calls.ts";
import type { SchemaProvider } from "./schema-source.ts";
import type { WireCalls } from "./wire-calls.ts";

/** The calls that only look: data sources and functions. */
export class DataCalls {
  readonly #calls: WireCalls;
  readonly #schema: SchemaProvider;

  constructor(calls: WireCalls, schema: SchemaProvider) {
    this.#calls = calls;
    this.#schema = schema;
  }

  async validate(request: ValidateResourceRequest, context: LifecycleContext): Promise<Reply> {
    const calls = this.#calls;
    const { type } = (await this.#schema.get(context)).types.dataSource(request.type);
    const reply = await calls.call(
      calls.methods.validateDataSource,
      { typeName: request.type, config: calls.write(request.config, type) },
      context,
    );
    return { diagnostics: diagnosticsFromWire(reply.diagnostics) };
  }

  async read(request: ReadDataRequest, context: LifecycleContext): Promise<ReadDataReply> {
    const calls = this.#calls;
    const { types } = await this.#schema.get(context);
    const { type } = types.dataSource(request.type);
    const reply = await calls.call(
      calls.methods.readDataSource,
      {
        typeName: request.type,
        config: calls.write(request.config, type),
        providerMeta: calls.writeOptional(request.providerMeta, types.providerMeta),
        clientCapabilities: capabilities(request.deferralAllowed),
      },
      context,
    );
    const deferred = deferralFromWire(reply.deferred);
    const diagnostics = withDeferral(reply.diagnostics, deferred, request.deferralAllowed);
    if (hasProviderErrors(diagnostics) && reply.state === undefined) return { diagnostics };
    const state = calls.read(reply.state, type, request.type);
    return { diagnostics, state, ...(deferred && { deferred }) };
  }

  async callFunction(
    request: CallFunctionRequest,
    context: LifecycleContext,
  ): Promise<CallFunctionReply> {
    const calls = this.#calls;
    const schema = (await this.#schema.get(context)).types.function(request.name);
    const reply = await calls.call(
      calls.methods.callFunction,
      {
        name: request.name,
        arguments: request.arguments.map((argument, position) =>
          calls.write(argument, parameterType(schema, request.name, position)),
        ),
      },
      context,
    );
    const { error } = reply;
    if (error === undefined) {
      return { result: calls.read(reply.result, schema.returnType, `${request.name}()`) };
    }
    const { text, functionArgument } = error;
    return {
      error: {
        text,
        ...(functionArgument !== undefined && { argument: Number(functionArgument) }),
      },
    };
  }
}

function parameterType({ parameters, variadic }: FunctionSchema, name: string, position: number) {
  const parameter = parameters[position] ?? variadic;
  if (parameter !== undefined) return parameter.type;
  throw new TfpluginError("TFPLUGIN_VALUE_INVALID", `${name}() takes fewer arguments`, {
    subject: name,
    outcome: "not-applied",
  });
}
