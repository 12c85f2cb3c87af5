import type { JsonObject } from "@stackwright/base/json";
import { type Path, Value } from "@stackwright/cty";
import {
  hasProviderErrors,
  type LifecycleProvider,
  type ProviderDiagnostic,
  proposeState,
  type ResourceSchema,
  type SchemaReply,
  typeOfBlock,
} from "@stackwright/mux/router";
import {
  assertApplied,
  assertObject,
  assertPlanValid,
  assertRefines,
  type ContractViolation,
  normalizeLegacyObject,
  type PlannedAction,
  plannedAction,
} from "../checks/index.ts";
import { configObject, type Resolve } from "./json-config.ts";

const NO_BYTES = new Uint8Array();
const KNOWN_ONLY: Resolve = (reference) => {
  throw new Error(`nothing is known of ${reference}`);
};

/** An object that exists, as an engine would keep it. */
export interface TestObject {
  readonly type: string;
  readonly state: Value;
  readonly privateBytes: Uint8Array;
  readonly identity?: Value;
  /** Its create failed half-way: the next plan replaces it. */
  readonly tainted: boolean;
}

/** What will happen to one object. */
export interface TestPlan {
  readonly type: string;
  readonly action: PlannedAction;
  readonly before: TestObject | undefined;
  readonly config: Value;
  readonly planned: Value;
  readonly plannedPrivate: Uint8Array;
  readonly plannedIdentity?: Value;
  readonly requiresReplace: readonly Path[];
}

/** A provider said no. */
export class ProviderRefusal extends Error {
  override readonly name = "ProviderRefusal";
  readonly diagnostics: readonly ProviderDiagnostic[];

  constructor(call: string, diagnostics: readonly ProviderDiagnostic[]) {
    super(
      `${call}: ${diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`).join("\n")}`,
    );
    this.diagnostics = diagnostics;
  }
}

/**
 * Drives one configured provider through the life of objects, as an engine does, with every check of the protocol. What
 * breaks a rule is collected in `violations`; what the provider refuses is thrown as {@link ProviderRefusal}.
 *
 * It is made for tests of providers: one object at a time, nothing is stored.
 */
export class ProviderDriver {
  readonly provider: LifecycleProvider;
  readonly declared: SchemaReply;
  readonly violations: ContractViolation[] = [];

  private constructor(provider: LifecycleProvider, declared: SchemaReply) {
    this.provider = provider;
    this.declared = declared;
  }

  /** Asks for the schema, checks the configuration and hands it over. */
  static async configure(
    provider: LifecycleProvider,
    config: JsonObject = {},
  ): Promise<ProviderDriver> {
    const declared = await provider.schema({});
    if (hasProviderErrors(declared.diagnostics))
      throw new ProviderRefusal("schema", declared.diagnostics);
    const object = configObject(declared.schema.provider, config, KNOWN_ONLY);
    accept("validateProvider", await provider.validateProvider({ config: object }, {}));
    const request = { config: object, engineVersion: "1.11.4", deferralAllowed: false };
    accept("configure", await provider.configure(request, {}));
    return new ProviderDriver(provider, declared);
  }

  /**
   * Checks a configuration and plans what it means for an object.
   *
   * @param json `undefined` for a delete
   */
  async plan(
    type: string,
    json: JsonObject | undefined,
    before?: TestObject,
    resolve: Resolve = KNOWN_ONLY,
  ): Promise<TestPlan> {
    const { block } = this.#schema(type);
    const nothing = Value.null(typeOfBlock(block));
    const prior = before?.state ?? nothing;
    if (json === undefined) {
      return this.#planDelete(type, prior, nothing, before);
    }
    const config = configObject(block, json, resolve);
    const validation = { type, config, writeOnlyAllowed: true };
    accept("validateResource", await this.provider.validateResource(validation, {}));
    if (before?.tainted === true) {
      const again = await this.#ask(type, nothing, config, before.privateBytes);
      return { ...again, before, action: "replace", requiresReplace: [] };
    }
    const first = await this.#ask(type, prior, config, before?.privateBytes ?? NO_BYTES, before);
    const action = plannedAction(prior, first.planned, first.requiresReplace);
    if (action !== "replace") return { ...first, before, action };
    // The object that takes its place is planned as new, with what the provider has to say about the change.
    const second = await this.#ask(type, nothing, config, first.plannedPrivate);
    return { ...second, before, action, requiresReplace: first.requiresReplace };
  }

  /**
   * Plans once more with everything known, and does it. Gives what is there afterwards.
   *
   * @param json the configuration of the plan
   */
  async apply(
    plan: TestPlan,
    json: JsonObject | undefined,
    resolve: Resolve = KNOWN_ONLY,
  ): Promise<TestObject | undefined> {
    const { type, action, before } = plan;
    const { block } = this.#schema(type);
    const nothing = Value.null(typeOfBlock(block));
    if (action === "no-op") return before;
    if (action === "delete" || action === "replace") {
      const removal = await this.#planDelete(type, before?.state ?? nothing, nothing, before);
      await this.#carryOut({ ...removal, action: "delete" }, before?.state ?? nothing);
      if (action === "delete") return undefined;
    }
    const fresh = action !== "update";
    const prior = fresh ? nothing : (before?.state ?? nothing);
    const config = configObject(block, json ?? {}, resolve);
    const privateBytes = fresh ? NO_BYTES : (before?.privateBytes ?? NO_BYTES);
    const final = await this.#ask(type, prior, config, privateBytes, fresh ? undefined : before);
    const finalAction = plannedAction(prior, final.planned, final.requiresReplace);
    const expected = fresh ? "create" : action;
    this.violations.push(
      ...assertRefines({
        block,
        approved: plan.planned,
        final: final.planned,
        approvedAction: expected,
        finalAction,
        legacyTypeSystem: final.legacyTypeSystem,
      }),
    );
    return this.#carryOut({ ...final, before, action: expected }, prior);
  }

  /** What is there now; `undefined` when it is gone. */
  async refresh(object: TestObject): Promise<TestObject | undefined> {
    const { block } = this.#schema(object.type);
    const reply = await this.provider.read(
      { ...object, deferralAllowed: false, ...(object.identity && { identity: object.identity }) },
      {},
    );
    accept("read", reply);
    const state = normalizeLegacyObject(block, reply.state ?? Value.null(typeOfBlock(block)));
    const checked = assertObject({ block, object: state });
    this.violations.push(...checked.violations);
    if (checked.object.isNull) return undefined;
    return {
      ...object,
      state: checked.object,
      privateBytes: reply.privateBytes ?? NO_BYTES,
      ...(reply.identity && { identity: reply.identity }),
    };
  }

  /** Finds an object by its id and reads it. */
  async import(type: string, id: string): Promise<TestObject | undefined> {
    const reply = await this.provider.import({ type, id, deferralAllowed: false }, {});
    accept("import", reply);
    const [found] = reply.objects;
    return found === undefined ? undefined : this.refresh({ ...found, tainted: false });
  }

  async readData(type: string, json: JsonObject, resolve: Resolve = KNOWN_ONLY): Promise<Value> {
    const schema = this.declared.schema.dataSources.get(type);
    if (schema === undefined) throw new Error(`the provider has no data source ${type}`);
    const config = configObject(schema.block, json, resolve);
    const validation = { type, config, writeOnlyAllowed: true };
    accept("validateDataSource", await this.provider.validateDataSource(validation, {}));
    const reply = await this.provider.readDataSource({ type, config, deferralAllowed: false }, {});
    accept("readDataSource", reply);
    const object = reply.state ?? Value.null(typeOfBlock(schema.block));
    const checked = assertObject({ block: schema.block, object });
    this.violations.push(...checked.violations);
    return checked.object;
  }

  #schema(type: string): ResourceSchema {
    const schema = this.declared.schema.resources.get(type);
    if (schema === undefined) throw new Error(`the provider has no resource ${type}`);
    return schema;
  }

  async #planDelete(
    type: string,
    prior: Value,
    nothing: Value,
    before: TestObject | undefined,
  ): Promise<TestPlan & { readonly legacyTypeSystem: boolean }> {
    const common = {
      type,
      before,
      action: "delete",
      config: nothing,
      requiresReplace: [],
      legacyTypeSystem: false,
    } as const;
    const plannedPrivate = before?.privateBytes ?? NO_BYTES;
    if (!this.declared.capabilities.planDestroy) {
      return { ...common, planned: nothing, plannedPrivate };
    }
    const asked = await this.#ask(type, prior, nothing, plannedPrivate, before);
    return { ...common, planned: asked.planned, plannedPrivate: asked.plannedPrivate };
  }

  async #ask(
    type: string,
    prior: Value,
    config: Value,
    priorPrivate: Uint8Array,
    before?: TestObject,
  ) {
    const { block } = this.#schema(type);
    const reply = await this.provider.plan(
      {
        type,
        prior,
        config,
        proposed: proposeState(block, prior, config),
        priorPrivate,
        deferralAllowed: false,
        ...(before?.identity && { priorIdentity: before.identity }),
      },
      {},
    );
    accept("plan", reply);
    const planned = reply.planned ?? Value.null(typeOfBlock(block));
    const { legacyTypeSystem, plannedPrivate, plannedIdentity } = reply;
    const { requiresReplace: asked } = reply;
    const question = { block, prior, config, planned, requiresReplace: asked, legacyTypeSystem };
    const { violations, requiresReplace } = assertPlanValid(question);
    this.violations.push(...violations);
    return {
      type,
      config,
      planned,
      plannedPrivate,
      requiresReplace,
      legacyTypeSystem,
      ...(plannedIdentity && { plannedIdentity }),
    };
  }

  async #carryOut(
    plan: TestPlan & { readonly legacyTypeSystem: boolean },
    prior: Value,
  ): Promise<TestObject | undefined> {
    const { type, config, planned, plannedPrivate, plannedIdentity } = plan;
    const { block } = this.#schema(type);
    const reply = await this.provider.apply(
      { type, prior, config, planned, plannedPrivate, ...(plannedIdentity && { plannedIdentity }) },
      {},
    );
    const failed = hasProviderErrors(reply.diagnostics);
    const { legacyTypeSystem, state } = reply;
    const checked = assertApplied({ block, planned, state, failed, legacyTypeSystem });
    this.violations.push(...checked.violations);
    if (failed && (prior.isNull ? checked.object.isNull : true)) accept("apply", reply);
    if (checked.object.isNull) return undefined;
    return {
      type,
      state: checked.object,
      privateBytes: reply.privateBytes,
      tainted: failed,
      ...(reply.identity && { identity: reply.identity }),
    };
  }
}

function accept(
  call: string,
  { diagnostics }: { readonly diagnostics: readonly ProviderDiagnostic[] },
) {
  if (hasProviderErrors(diagnostics)) throw new ProviderRefusal(call, diagnostics);
}
