import { type Clock, sleep } from "@stackwright/base/clock";
import { decodeJson, getAttribute, Path, Type, Value } from "@stackwright/cty";
import {
  type ApplyReply,
  type ApplyResourceRequest,
  type ImportReply,
  type LifecycleContext,
  type LifecycleProvider,
  type OpenReply,
  type OperationIdentity,
  type PlanReply,
  type PlanResourceRequest,
  type ProviderDiagnostic,
  type RenewReply,
  type Reply,
  typeOfBlock,
} from "@stackwright/mux/router";
import {
  type CloudCall,
  CloudError,
  type CloudFault,
  cloudKey,
  type ModelCloud,
} from "./model-cloud.ts";
import { type ModelLease, ModelLeases } from "./model-leases.ts";
import { FORCE_NEW, MODEL_SCHEMA } from "./model-schema.ts";

/** Options of {@link createModelProvider}. */
interface ModelProviderOptions {
  readonly cloud: ModelCloud;
  readonly scheduler: Clock;
  /** The process that the provider runs in: when it aborts, calls under way never answer. */
  readonly process?: AbortSignal;
  /** Where it notes what it lends. @default nobody looks */
  readonly leases?: ModelLeases;
  /** Called with everything that the provider is asked and answers, for tests that look at the order. */
  readonly onCall?: (call: CloudCall) => void;
}

const NOTHING = new Uint8Array();
/** How soon a lease is to be renewed, in milliseconds. */
const RENEWED_MS = 700;

/**
 * A provider of a {@link ModelCloud}. It keeps every rule of a lifecycle provider, but for the faults that the
 * cloud's behaviour asks for.
 */
export function createModelProvider(options: ModelProviderOptions): LifecycleProvider {
  return new ModelProvider(options);
}

class ModelProvider implements LifecycleProvider {
  readonly #cloud: ModelCloud;
  readonly #scheduler: Clock;
  readonly #process: AbortSignal | undefined;
  readonly #leases: ModelLeases;
  readonly #onCall: (call: CloudCall) => void;

  constructor(options: ModelProviderOptions) {
    const { cloud, scheduler, process, leases, onCall = () => undefined } = options;
    this.#cloud = cloud;
    this.#leases = leases ?? new ModelLeases();
    this.#scheduler = scheduler;
    this.#process = process;
    this.#onCall = onCall;
  }

  async schema() {
    const capabilities = { planDestroy: false, moveState: false, failedCreateIsClean: true };
    return { schema: MODEL_SCHEMA, capabilities, diagnostics: [] };
  }

  async validateProvider() {
    return OK;
  }

  async validateResource({ type }: Parameters<LifecycleProvider["validateResource"]>[0]) {
    return MODEL_SCHEMA.resources.has(type) ? OK : refusal(`there is no type ${type}`);
  }

  async validateDataSource() {
    return OK;
  }

  async validateEphemeral() {
    return OK;
  }

  async configure() {
    return OK;
  }

  async upgrade({ type, json }: Parameters<LifecycleProvider["upgrade"]>[0]) {
    return { ...OK, state: decodeJson(json, typeOf(type)) };
  }

  async move() {
    return refusal("objects of other types cannot be moved here");
  }

  async read(
    { type, state, privateBytes }: Parameters<LifecycleProvider["read"]>[0],
    context: LifecycleContext,
  ) {
    const id = textOf(state, "id");
    return this.#call("read", type, id, undefined, context, (call) => {
      const found = this.#cloud.object(type, id);
      call.applied = true;
      const identity = identityOf(type, id);
      return { ...OK, state: found?.value ?? Value.null(typeOf(type)), privateBytes, ...identity };
    });
  }

  async plan(request: PlanResourceRequest): Promise<PlanReply> {
    const { type, prior } = request;
    const reply = { ...OK, plannedPrivate: request.priorPrivate, legacyTypeSystem: false };
    if (request.proposed.isNull) {
      return { ...reply, planned: request.proposed, requiresReplace: [] };
    }
    // What is only told is in no answer.
    const proposed = complete(request.proposed, { token_wo: Value.null(Type.string) });
    const changed = prior.isNull
      ? []
      : [...proposed.entries()].filter(
          ([name, value]) => !value.rawEquals(getAttribute(prior, name)),
        );
    const requiresReplace = changed
      .filter(([name]) => FORCE_NEW.some((other) => other === name))
      .map(([name]) => Path.root.attribute(name));
    // With a new object everything that the cloud decides is open again.
    const fresh = prior.isNull || requiresReplace.length > 0;
    const planned = new Map(proposed.entries());
    const decide = (name: string, value: Value): void => void planned.set(name, value);
    if (fresh) {
      decide(
        "id",
        type === "model_named" ? getAttribute(proposed, "name") : Value.unknown(Type.string),
      );
      if (
        prior.isNull
          ? getAttribute(proposed, "zone").isNull
          : getAttribute(request.config, "zone").isNull
      ) {
        decide("zone", Value.unknown(Type.string));
      }
    }
    if (fresh || changed.length > 0) decide("serial", Value.unknown(Type.number));
    const id = planned.get("id");
    const { identity } = id?.isKnown === true ? identityOf(type, id.asString()) : {};
    return {
      ...reply,
      planned: Value.object(planned),
      requiresReplace,
      ...(identity === undefined ? {} : { plannedIdentity: identity }),
    };
  }

  async apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    const { type, prior, planned, operation, config } = request;
    const token = config.isNull ? Value.null(Type.string) : getAttribute(config, "token_wo");
    if (token.isKnown && !token.isNull) this.#leases.use(token.asString());
    if (prior.isNull) return this.#create(request, context);
    const id = textOf(prior, "id");
    if (planned.isNull) {
      return this.#call("delete", type, id, operation, context, (call, fault) => {
        if (fault === "refuse") return this.#unchanged(type, id, "the cloud refuses to delete");
        this.#cloud.remove(type, id);
        call.applied = true;
        if (fault === "partial") this.#cloud.misreported.add(cloudKey(type, id));
        return applied(
          Value.null(typeOf(type)),
          fault === "partial" ? "it went, but not well" : "",
        );
      });
    }
    return this.#call("update", type, id, operation, context, (call, fault) => {
      const found = this.#cloud.object(type, id);
      if (fault === "refuse") return this.#unchanged(type, id, "the cloud refuses to change");
      if (found === undefined) return applied(Value.null(typeOf(type)), "the object is gone");
      const serial = getAttribute(found.value, "serial").asNumber() + 1;
      const value = complete(planned, { serial: Value.number(serial) });
      this.#cloud.put({ ...found, value });
      call.applied = true;
      const reply = applied(value, fault === "partial" ? "changed, but not well" : "");
      return { ...reply, ...identityOf(type, id) };
    });
  }

  async import(request: Parameters<LifecycleProvider["import"]>[0], context: LifecycleContext) {
    const { type, identity } = request;
    const id = identity === undefined ? request.id : textOf(identity, "name");
    return this.#call("import", type, id, undefined, context, (call): ImportReply => {
      call.applied = true;
      const found = this.#cloud.object(type, id);
      const state = found?.value ?? Value.null(typeOf(type));
      if (found === undefined && identity === undefined) {
        return { ...refusal(`there is no ${type} ${id}`), objects: [] };
      }
      const objects = [{ type, state, privateBytes: NOTHING, ...identityOf(type, id) }];
      return { ...OK, objects };
    });
  }

  async readDataSource(
    { type, config }: Parameters<LifecycleProvider["readDataSource"]>[0],
    context: LifecycleContext,
  ) {
    const id = textOf(config, "id");
    return this.#call("readData", type, id, undefined, context, (call) => {
      call.applied = true;
      const found = this.#cloud.object("model_thing", id) ?? this.#cloud.object("model_named", id);
      const state = Value.object({
        id: Value.string(id),
        found: Value.bool(found !== undefined),
        size: found === undefined ? Value.null(Type.number) : getAttribute(found.value, "size"),
      });
      return { ...OK, state };
    });
  }

  async openEphemeral(
    { type, config }: Parameters<LifecycleProvider["openEphemeral"]>[0],
    context: LifecycleContext,
  ): Promise<OpenReply> {
    const name = textOf(config, "name");
    let lease: ModelLease | undefined;
    const reply = await this.#call("open", type, name, undefined, context, (call, fault) => {
      if (fault === "refuse") return refusal("nothing is lent today");
      lease = this.#leases.open(name);
      call.applied = true;
      const token = Value.string(lease.token);
      const result = Value.object([...config.entries(), ["token", token]]);
      const privateBytes = new TextEncoder().encode(lease.id);
      return {
        ...(fault === "partial" ? refusal("lent, but not well") : OK),
        result,
        privateBytes,
        ...this.#renewal(getAttribute(config, "renews")),
      };
    });
    if (lease !== undefined) lease.isKnown = context.signal?.aborted !== true;
    return reply;
  }

  async renewEphemeral(
    { type, privateBytes }: Parameters<LifecycleProvider["renewEphemeral"]>[0],
    context: LifecycleContext,
  ): Promise<RenewReply> {
    const lease = this.#leases.byId(privateBytes);
    if (lease.closes > 0) lease.lateRenewals += 1;
    return this.#call("renew", type, lease.id, undefined, context, (call, fault) => {
      if (fault === "refuse") return refusal("nothing is lent for longer");
      call.applied = true;
      return { ...OK, ...this.#renewal(Value.true) };
    });
  }

  async closeEphemeral(
    { type, privateBytes }: Parameters<LifecycleProvider["closeEphemeral"]>[0],
    context: LifecycleContext,
  ): Promise<Reply> {
    const lease = this.#leases.byId(privateBytes);
    lease.closes += 1;
    return this.#call("close", type, lease.id, undefined, context, (call, fault) => {
      call.applied = true;
      return fault === "refuse" ? refusal("it was given back, but not well") : OK;
    });
  }

  #renewal(renews: Value): { readonly renewAtMs?: number } {
    const isWanted = !renews.isNull && renews.rawEquals(Value.true);
    return isWanted ? { renewAtMs: this.#scheduler.wallMs() + RENEWED_MS } : {};
  }

  async callFunction() {
    return { error: { text: "there are no functions here" } };
  }

  async stop(): Promise<void> {
    await Promise.resolve();
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #create(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    const { type, planned, operation } = request;
    return this.#call("create", type, "", operation, context, (call, fault) => {
      const none = Value.null(typeOf(type));
      if (fault === "refuse") return applied(none, "the cloud refuses to create");
      const named = type === "model_named";
      const id = named ? textOf(planned, "name") : this.#cloud.behaviour.newId(type);
      if (this.#cloud.object(type, id) !== undefined) return applied(none, `${id} exists already`);
      const zone = getAttribute(planned, "zone");
      const value = complete(planned, {
        id: Value.string(id),
        serial: Value.number(1),
        ...(zone.isKnown ? {} : { zone: Value.string("zone-a") }),
      });
      this.#cloud.put({ type, id, value, createdBy: operation?.operationId ?? "" });
      call.applied = true;
      if (fault === "ghost") return applied(none, "the cloud says that it failed");
      const reply = applied(value, fault === "partial" ? "created, but not well" : "");
      return { ...reply, ...identityOf(type, id) };
    });
  }

  #unchanged(type: string, id: string, error: string): ApplyReply {
    return applied(this.#cloud.object(type, id)?.value ?? Value.null(typeOf(type)), error);
  }

  async #call<R>(
    method: CloudCall["method"],
    type: string,
    id: string,
    operation: OperationIdentity | undefined,
    { signal }: LifecycleContext,
    act: (call: CloudCall, fault: CloudFault | undefined) => R,
  ): Promise<R> {
    const { behaviour } = this.#cloud;
    const scheduler = this.#scheduler;
    this.#assertRunning();
    signal?.throwIfAborted();
    const call = this.#cloud.begin({
      method,
      type,
      id,
      operationId: operation?.operationId ?? "",
      epoch: operation?.epoch ?? 0n,
      startedAt: scheduler.monotonicMs(),
    });
    this.#onCall(call);
    const fault = behaviour.fault(method, type);
    if (fault !== undefined) call.fault = fault;
    await sleep(scheduler, behaviour.delayMs(method));
    if (this.#process?.aborted === true) {
      // The request may have been on its way when the process went.
      if (fault !== "unreachable" && behaviour.survives()) act(call, fault);
      this.#assertRunning();
    }
    if (fault === "unreachable") {
      this.#cloud.end(call, scheduler.monotonicMs());
      throw new CloudError("the cloud cannot be reached");
    }
    const reply = act(call, fault);
    await sleep(scheduler, behaviour.delayMs(method));
    this.#assertRunning();
    this.#cloud.end(call, scheduler.monotonicMs());
    if (fault === "lost") throw new CloudError("the answer of the cloud was lost");
    return reply;
  }

  #assertRunning(): void {
    if (this.#process?.aborted === true) throw new CloudError("the process is gone");
  }
}

const OK = { diagnostics: [] };

function refusal(summary: string) {
  return { diagnostics: [problem(summary)] };
}

function problem(summary: string): ProviderDiagnostic {
  return { severity: "error", summary, detail: "" };
}

function applied(state: Value, error: string): ApplyReply {
  const diagnostics = error === "" ? [] : [problem(error)];
  return { state, privateBytes: NOTHING, legacyTypeSystem: false, diagnostics };
}

function identityOf(type: string, id: string): { readonly identity?: Value } {
  return type === "model_named" ? { identity: Value.object({ name: Value.string(id) }) } : {};
}

function complete(planned: Value, decided: Readonly<Record<string, Value>>): Value {
  return Value.object(
    [...planned.entries()].map(([name, value]) => [name, decided[name] ?? value]),
  );
}

function typeOf(type: string) {
  const schema = MODEL_SCHEMA.resources.get(type) ?? MODEL_SCHEMA.dataSources.get(type);
  if (schema === undefined) throw new Error(`there is no type ${type}`);
  return typeOfBlock(schema.block);
}

function textOf(value: Value, name: string): string {
  return getAttribute(value, name).asString();
}
