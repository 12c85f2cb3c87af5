import { decodeJson, Value } from "@stackwright/cty";
import { decodeStruct, encodeStruct } from "@stackwright/proto/property";
import {
  CheckRequest,
  ConfigureRequest,
  InvokeRequest,
  ReadRequest,
} from "@stackwright/proto/pulumirpc";
import { parsePackageSchema } from "../core/package-schema.ts";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import type {
  ApplyReply,
  ApplyResourceRequest,
  LifecycleContext,
  LifecycleProvider,
  PlanReply,
  PlanResourceRequest,
  ReadDataReply,
  Reply,
} from "../router/lifecycle-provider.ts";
import { ProviderFailure } from "../router/provider-failure.ts";
import { change, failedChange, keptPrivate } from "./apply-resource.ts";
import { cocorpcConfigVariables } from "./cocorpc-variables.ts";
import {
  applyComponent,
  type ComponentMember,
  planComponent,
  readComponent,
} from "./component-object.ts";
import { callMethod, type MethodOf } from "./method-call.ts";
import { type Member, type Package, readPackage, typeOfShapes } from "./package.ts";
import { planObject } from "./plan-resource.ts";
import { decodePrivate, encodePrivate } from "./private-inputs.ts";
import { fromProperties, toProperties } from "./property-values.ts";
import {
  callContext,
  EMPTY,
  encodingFor,
  idOf,
  PulumiAdapterSession,
  providerUrn,
  resourceUrn,
  UNCONFIGURED,
} from "./pulumi-session.ts";
import { captureFailure, failuresToDiagnostics, missing, report } from "./replies.ts";
import { possibleNames } from "./token-name.ts";

export interface PulumiAdapterOptions {
  /** Schema of the package, for providers that have none of their own. @default that of GetSchema */
  readonly schema?: string;
  /** Frees the provider, with `close`. */
  readonly close?: () => Promise<void>;
}

/**
 * A Pulumi provider as a lifecycle provider.
 *
 * | lifecycle | Pulumi |
 * |---|---|
 * | plan of a create | Check, then Create in preview where the provider supports it |
 * | plan of an update | Check, Diff, then Update in preview |
 * | apply | Create, Update or Delete with the checked inputs of the plan |
 * | read, import | Read |
 * | data source | Invoke; Call for the method of a resource |
 * | component | Construct, in preview for a plan; what it makes is kept with it as private bytes |
 * | stop | Cancel |
 *
 * Resource types are named after their tokens in snake case (`typeNameOfToken` of provider-source); the token itself is a name as
 * well. Functions are data sources. Checked inputs, which later calls need, travel as private bytes. Values of
 * Pulumi are looser than the template language's, so plans say that they keep the legacy type system.
 *
 * A create that failed with an init-failed detail has made something: the reply has its state. Any other failed
 * create has not, if the code says so; after INTERNAL, UNKNOWN, DATA_LOSS or a lost connection that is open, and
 * the call rejects. Source: Pulumi's provider protocol.
 */
export function adaptPulumiProvider(
  provider: ResourceProvider,
  options: PulumiAdapterOptions = {},
): LifecycleProvider {
  return new AdaptedPulumiProvider(provider, options);
}

class AdaptedPulumiProvider implements LifecycleProvider {
  readonly #session: PulumiAdapterSession;
  readonly #options: PulumiAdapterOptions;
  #package: Promise<Package> | undefined;
  #closing: Promise<void> | undefined;

  constructor(provider: ResourceProvider, options: PulumiAdapterOptions) {
    this.#session = new PulumiAdapterSession(provider);
    this.#options = options;
  }

  async schema(context: LifecycleContext) {
    const { schema, diagnostics } = await this.#load(context);
    // What may have been made is no reply but a rejection.
    const capabilities = { planDestroy: false, moveState: true, failedCreateIsClean: true };
    return { schema, diagnostics, capabilities };
  }

  async validateProvider(
    { config }: Parameters<LifecycleProvider["validateProvider"]>[0],
    context: LifecycleContext,
  ): Promise<Reply> {
    const pkg = await this.#load(context);
    return report(async () => {
      const news = encodeStruct(toProperties(pkg.config.all, config), encodingFor(UNCONFIGURED));
      const request = CheckRequest.create({ urn: providerUrn(pkg.name), olds: EMPTY, news });
      const checked = await missing(
        this.#session.provider.checkConfig(request, callContext(context)),
      );
      return failuresToDiagnostics(checked?.failures ?? []);
    });
  }

  // What is wrong with a resource its provider says in the plan: Check wants to be configured first.
  validateResource = () => Promise.resolve({ diagnostics: [] });
  validateDataSource = () => Promise.resolve({ diagnostics: [] });
  validateEphemeral: LifecycleProvider["validateEphemeral"] = ({ type }) => unknownType(type);

  async configure(
    { config }: Parameters<LifecycleProvider["configure"]>[0],
    context: LifecycleContext,
  ): Promise<Reply> {
    const pkg = await this.#load(context);
    return report(async () => {
      const news = encodeStruct(toProperties(pkg.config.all, config), encodingFor(UNCONFIGURED));
      const urn = providerUrn(pkg.name);
      const check = CheckRequest.create({ urn, olds: EMPTY, news });
      const checked = await missing(
        this.#session.provider.checkConfig(check, callContext(context)),
      );
      if (checked !== undefined && checked.failures.length > 0) {
        return failuresToDiagnostics(checked.failures);
      }
      const request = ConfigureRequest.create({
        args: checked?.inputs ?? news,
        variables: cocorpcConfigVariables(pkg.name, checked?.inputs ?? news),
        acceptSecrets: true,
        acceptResources: true,
        sendsOldInputs: true,
        sendsOldInputsToDelete: true,
      });
      const configured = await missing(
        this.#session.provider.configure(request, callContext(context)),
      );
      this.#session.capabilities = configured ?? UNCONFIGURED;
      return [];
    });
  }

  async upgrade(
    { type, json }: Parameters<LifecycleProvider["upgrade"]>[0],
    context: LifecycleContext,
  ) {
    const { shapes } = await this.#resource(type, context);
    return captureFailure(async () => ({ state: decodeJson(json, typeOfShapes(shapes.all)) }));
  }

  /** A type may come to be called differently, when its package gets others. Nothing else becomes another type. */
  async move(
    { sourceType, source, sourcePrivate, targetType }: Parameters<LifecycleProvider["move"]>[0],
    context: LifecycleContext,
  ) {
    const { token, shapes } = await this.#resource(targetType, context);
    return captureFailure(async () => {
      const { resources } = await this.#load(context);
      const isOther = resources.has(sourceType) && resources.get(sourceType)?.token !== token;
      if (isOther || !possibleNames(token).includes(sourceType)) {
        const detail = `${sourceType} cannot become ${targetType}.`;
        throw new ProviderFailure("Move not possible", detail);
      }
      const state = decodeJson(source.json, typeOfShapes(shapes.all));
      return { state, privateBytes: sourcePrivate };
    });
  }

  async read(request: Parameters<LifecycleProvider["read"]>[0], context: LifecycleContext) {
    const member = await this.#resource(request.type, context);
    const { token, shapes } = member;
    return captureFailure(async () => {
      if (isComponent(member)) return readComponent(this.#session, member, request, context);
      const id = idOf(request.state);
      const found = await this.#session.provider.read(
        ReadRequest.create({
          id,
          urn: resourceUrn(token, undefined),
          properties: this.#session.encode(toProperties(shapes.stored, request.state)),
          inputs: this.#session.encode(decodePrivate(request.privateBytes).inputs),
        }),
        callContext(context),
      );
      if (found.id === "") return { state: Value.null(request.state.type) };
      const { value, sensitive } = this.#session.object(shapes, found.id, found.properties);
      const { inputs } = found;
      const privateBytes =
        inputs === undefined
          ? request.privateBytes
          : encodePrivate({ inputs: decodeStruct(inputs) });
      return { state: value, sensitive, privateBytes };
    });
  }

  async plan(request: PlanResourceRequest, context: LifecycleContext): Promise<PlanReply> {
    const rest = { plannedPrivate: request.priorPrivate, legacyTypeSystem: true };
    if (request.proposed.isNull) {
      return { diagnostics: [], planned: request.proposed, requiresReplace: [], ...rest };
    }
    const member = await this.#resource(request.type, context);
    const reply = await captureFailure<Partial<PlanReply>>(() =>
      isComponent(member)
        ? planComponent(this.#session, member, request, context)
        : planObject(this.#session, member, request, context),
    );
    return { requiresReplace: [], ...rest, ...reply };
  }

  async apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    const member = await this.#resource(request.type, context);
    if (isComponent(member)) return applyComponent(this.#session, member, request, context);
    const { token, shapes } = member;
    const urn = resourceUrn(token, request.operation);
    try {
      const { value, sensitive } = await change(this.#session, shapes, urn, request, context);
      const privateBytes = keptPrivate(request);
      return { diagnostics: [], state: value, sensitive, privateBytes, legacyTypeSystem: true };
    } catch (error) {
      return { ...failedChange(this.#session, shapes, request, error), legacyTypeSystem: true };
    }
  }

  async import(
    { type, id }: Parameters<LifecycleProvider["import"]>[0],
    context: LifecycleContext,
  ) {
    const { token, shapes, component } = await this.#resource(type, context);
    const reply = await captureFailure(async () => {
      if (component !== undefined) {
        throw new ProviderFailure(
          "Import not possible",
          `${type} is a component, which has no id.`,
        );
      }
      const urn = resourceUrn(token, undefined);
      const request = ReadRequest.create({ id, urn, properties: EMPTY });
      const found = await this.#session.provider.read(request, callContext(context));
      if (found.id === "") {
        throw new ProviderFailure("Object not found", `There is no ${type} with the id "${id}".`);
      }
      const { value } = this.#session.object(shapes, found.id, found.properties);
      const inputs = decodeStruct(found.inputs ?? EMPTY);
      return { objects: [{ type, state: value, privateBytes: encodePrivate({ inputs }) }] };
    });
    return { objects: [], ...reply };
  }

  async readDataSource(
    { type, config }: Parameters<LifecycleProvider["readDataSource"]>[0],
    context: LifecycleContext,
  ) {
    const { functions } = await this.#load(context);
    const member = functions.get(type);
    if (member === undefined) return unknownType(type);
    const { token, shapes } = member;
    return captureFailure<Partial<ReadDataReply>>(async () => {
      if (isMethod(member)) return callMethod(this.#session, member, config, context);
      const given = toProperties(shapes.inputs, config);
      const request = InvokeRequest.create({ tok: token, args: this.#session.encode(given) });
      const reply = await this.#session.provider.invoke(request, callContext(context));
      if (reply.failures.length > 0) return { diagnostics: failuresToDiagnostics(reply.failures) };
      const outputs = decodeStruct(reply.return ?? EMPTY);
      const { value, sensitive } = fromProperties(shapes.all, new Map([...given, ...outputs]));
      return { state: value, sensitive };
    });
  }

  openEphemeral: LifecycleProvider["openEphemeral"] = ({ type }) => unknownType(type);
  renewEphemeral: LifecycleProvider["renewEphemeral"] = ({ type }) => unknownType(type);
  closeEphemeral: LifecycleProvider["closeEphemeral"] = ({ type }) => unknownType(type);
  callFunction: LifecycleProvider["callFunction"] = ({ name }) => unknownType(name);

  async stop(context: LifecycleContext): Promise<void> {
    await missing(this.#session.provider.cancel({}, callContext(context)));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#options.close?.() ?? Promise.resolve();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #load(context: LifecycleContext): Promise<Package> {
    this.#package ??= this.#readSchema(context).catch((error: unknown) => {
      this.#package = undefined;
      throw error;
    });
    return this.#package;
  }

  async #readSchema(context: LifecycleContext): Promise<Package> {
    let text = this.#options.schema;
    if (text === undefined) {
      const request = { version: 0, subpackageName: "", subpackageVersion: "" };
      text = (await this.#session.provider.getSchema(request, callContext(context))).schema;
    }
    return readPackage(parsePackageSchema("provider", text));
  }

  async #resource(type: string, context: LifecycleContext): Promise<Member> {
    const { resources } = await this.#load(context);
    return resources.get(type) ?? unknownType(type);
  }
}

function isComponent(member: Member): member is ComponentMember {
  return member.component !== undefined;
}

function isMethod(member: Member): member is Member & { readonly method: MethodOf } {
  return member.method !== undefined;
}

function unknownType(type: string): never {
  throw new MuxError("MUX_TOKEN_UNKNOWN", `this provider has no ${type}`, { token: type });
}
