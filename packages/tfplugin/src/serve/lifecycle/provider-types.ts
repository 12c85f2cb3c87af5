import { Type, type Value } from "@stackwright/cty";
import {
  type FunctionParameterSchema,
  type LifecycleContext,
  type LifecycleProvider,
  type ResourceSchema,
  type SchemaReply,
  typeOfBlock,
} from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../../errors.ts";
import { valueFromWire, valueToWire } from "../../wire/dynamic-value.ts";

type Kind = "resources" | "dataSources" | "ephemeralResources";

/** The types of a provider's values, from its schema, which is asked for once; and values that are read by them. */
export class ProviderTypes {
  readonly #provider: LifecycleProvider;
  readonly #types = new Map<string, Type>();
  #reply: Promise<SchemaReply> | undefined;

  constructor(provider: LifecycleProvider) {
    this.#provider = provider;
  }

  reply(context: LifecycleContext): Promise<SchemaReply> {
    if (this.#reply === undefined) {
      const asked = this.#provider.schema(context);
      this.#reply = asked;
      asked.catch(() => {
        this.#reply = undefined;
      });
    }
    return this.#reply;
  }

  /** Of the provider's own configuration. */
  async ofProvider(context: LifecycleContext): Promise<Type> {
    const { schema } = await this.reply(context);
    return this.#once("provider", () => typeOfBlock(schema.provider));
  }

  /** Of what modules say to the provider; undefined where it does not listen. */
  async ofMeta(context: LifecycleContext): Promise<Type | undefined> {
    const { providerMeta } = (await this.reply(context)).schema;
    return providerMeta && this.#once("meta", () => typeOfBlock(providerMeta));
  }

  /** Of an object. `TFPLUGIN_TYPE_UNKNOWN`. */
  async of(kind: Kind, name: string, context: LifecycleContext): Promise<Type> {
    const { block } = await this.#schema(kind, name, context);
    return this.#once(`${kind}.${name}`, () => typeOfBlock(block));
  }

  /** Of what identifies an object of a resource type; undefined where nothing does. */
  async ofIdentity(name: string, context: LifecycleContext): Promise<Type | undefined> {
    const { identity } = await this.#schema("resources", name, context);
    if (identity === undefined) return undefined;
    const attributes = [...identity.attributes].map(([key, { type }]) => [key, type] as const);
    return this.#once(`identity.${name}`, () => Type.object(Object.fromEntries(attributes)));
  }

  async ofFunction(
    name: string,
    context: LifecycleContext,
  ): Promise<{ readonly parameterAt: (index: number) => Type; readonly result: Type }> {
    const found = (await this.reply(context)).schema.functions.get(name);
    if (found === undefined) throw unknown("function", name);
    return {
      result: found.returnType,
      parameterAt: (index) => {
        const parameter: FunctionParameterSchema | undefined =
          found.parameters[index] ?? found.variadic;
        if (parameter === undefined) throw unknown(`argument ${index} of function`, name);
        return parameter.type;
      },
    };
  }

  /** What a module says to the provider, as a part of a request. */
  async readMeta(
    meta: t6.DynamicValue | undefined,
    context: LifecycleContext,
  ): Promise<{ readonly providerMeta: Value } | undefined> {
    const type = meta && (await this.ofMeta(context));
    return type && { providerMeta: valueFromWire(meta, type) };
  }

  async readIdentity(
    name: string,
    data: t6.ResourceIdentityData | undefined,
    context: LifecycleContext,
  ): Promise<Value | undefined> {
    const type = data?.identityData && (await this.ofIdentity(name, context));
    return type && valueFromWire(data?.identityData, type);
  }

  async writeIdentity(
    name: string,
    identity: Value | undefined,
    context: LifecycleContext,
  ): Promise<t6.ResourceIdentityData | undefined> {
    const type = identity && (await this.ofIdentity(name, context));
    return type && { identityData: valueToWire(identity, type) };
  }

  async #schema(kind: Kind, name: string, context: LifecycleContext): Promise<ResourceSchema> {
    const found = (await this.reply(context)).schema[kind].get(name);
    if (found === undefined) throw unknown(kind, name);
    return found;
  }

  #once(key: string, make: () => Type): Type {
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#types.set(key, made);
    return made;
  }
}

function unknown(kind: string, name: string): TfpluginError {
  const text = `the provider has no ${kind} called ${JSON.stringify(name)}`;
  return new TfpluginError("TFPLUGIN_TYPE_UNKNOWN", text, { subject: name });
}
