import { conformsTo, couldBecome, Value } from "@stackwright/cty";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasProviderErrors } from "../router/diagnostic.ts";
import type { ApplyReply, LifecycleProvider, PlanReply } from "../router/lifecycle-provider.ts";
import { emptyObject, proposeState } from "../router/propose-state.ts";
import type { ResourceSchema } from "../router/schema.ts";
import { typeOfBlock } from "../router/type-of-block.ts";

/** Configuration of a resource, as members; what is left out is null. */
export type SampleConfig = Readonly<Record<string, Value>>;

/** A resource type of the provider under test, with configurations that the suite may create for real. */
export interface LifecycleSample {
  readonly type: string;
  readonly config: SampleConfig;
  /** Differs from `config` in what can be updated in place; absent: nothing can. */
  readonly changed?: SampleConfig;
  /** Differs from `config` in what needs a new object; absent: nothing does. */
  readonly replaced?: SampleConfig;
  /** Whether what is imported under the object's id equals the object. @default false */
  readonly importable?: boolean;
  /** Whether objects exist outside of the state, so that a read can tell that one is gone. @default true */
  readonly observable?: boolean;
}

export interface LifecycleHarness extends AsyncDisposable {
  /** Configured, and with nothing of the sample in existence. */
  readonly provider: LifecycleProvider;
}

const NO_BYTES = new Uint8Array();

/**
 * The contract of {@link LifecycleProvider} as tests: what an engine relies on, for any provider. The cases build on
 * one another: they create one object, look at it, change it, and delete it.
 */
export function describeLifecycleProvider(
  name: string,
  create: () => Promise<LifecycleHarness>,
  sample: LifecycleSample,
): void {
  describe(name, () => {
    let harness: LifecycleHarness;
    let subject: Subject;

    beforeAll(async () => {
      harness = await create();
      subject = await Subject.create(harness.provider, sample);
    });

    afterAll(async () => {
      await harness[Symbol.asyncDispose]();
    });

    it("declares the same schema every time", async () => {
      const again = await harness.provider.schema({});
      expect([...again.schema.resources.keys()]).toContain(sample.type);
      expect(again.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    });

    it("finds nothing wrong with a valid configuration", async () => {
      const config = subject.object(sample.config);
      const request = { type: sample.type, config, writeOnlyAllowed: true };
      const { diagnostics } = await harness.provider.validateResource(request, {});
      expect(hasProviderErrors(diagnostics)).toBe(false);
    });

    it("plans a create without doing anything", async () => {
      const reply = await subject.plan(sample.config);
      expect(reply.planned?.isNull).toBe(false);
      expect(reply.planned && conformsTo(reply.planned.type, subject.type)).toBe(true);
      subject.expectConfigKept(sample.config, reply);
    });

    it("answers the same plan again with a refinement of its first answer", async () => {
      const first = await subject.plan(sample.config);
      const second = await subject.plan(sample.config);
      subject.expectRefines(first.planned, second.planned);
    });

    it("creates what it planned, wholly known", async () => {
      const { reply, planned } = await subject.apply(sample.config);
      expect(reply.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(reply.state.isNull).toBe(false);
      expect(reply.state.isWhollyKnown).toBe(true);
      if (!reply.legacyTypeSystem) subject.expectRefines(planned, reply.state);
    });

    it("reads back what it created", async () => {
      const state = await subject.read();
      expect(state.rawEquals(subject.state)).toBe(true);
    });

    it("plans nothing when nothing changed", async () => {
      const { planned, requiresReplace } = await subject.plan(sample.config);
      expect(planned?.rawEquals(subject.state)).toBe(true);
      expect(requiresReplace).toEqual([]);
    });

    const { importable = false, observable = true, replaced, changed } = sample;
    if (importable)
      it("imports it by its id", async () => {
        const id = new Map(subject.state.entries()).get("id")?.asString() ?? "";
        const request = { type: sample.type, id, deferralAllowed: false };
        const { objects, diagnostics } = await harness.provider.import(request, {});
        expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
        expect(objects.map(({ type }) => type)).toEqual([sample.type]);
        expect(objects[0]?.state.rawEquals(subject.state)).toBe(true);
      });

    if (replaced !== undefined)
      it("asks for a new object when it needs one", async () => {
        const { requiresReplace } = await subject.plan(replaced);
        expect(requiresReplace.length).toBeGreaterThan(0);
      });

    if (changed !== undefined)
      it("updates in place what it planned", async () => {
        const { reply, planned } = await subject.apply(changed);
        expect(reply.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
        expect(reply.state.isWhollyKnown).toBe(true);
        if (!reply.legacyTypeSystem) subject.expectRefines(planned, reply.state);
        const again = await subject.plan(changed);
        expect(again.planned?.rawEquals(subject.state)).toBe(true);
      });

    it(observable ? "deletes it, and then finds nothing" : "deletes it", async () => {
      const before = subject.state;
      const { reply } = await subject.apply(undefined);
      expect(reply.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(reply.state.isNull).toBe(true);
      if (observable) expect((await subject.read(before)).isNull).toBe(true);
    });

    it("rejects a type that it does not have", async () => {
      const config = subject.object(sample.config);
      const request = { type: "no_such_type", config, writeOnlyAllowed: true };
      const attempt = async () => harness.provider.validateResource(request, {});
      const outcome = await attempt().then(
        ({ diagnostics }) => hasProviderErrors(diagnostics) || diagnostics.length === 0,
        () => true,
      );
      expect(outcome).toBe(true);
    });

    it("closes more than once without harm", async () => {
      await Promise.all([harness.provider.close(), harness.provider.close()]);
    });
  });
}

/** The one object of a run, and what is known of it. */
class Subject {
  readonly #provider: LifecycleProvider;
  readonly #sample: LifecycleSample;
  readonly #schema: ResourceSchema;
  readonly type: ReturnType<typeof typeOfBlock>;
  state: Value;
  #privateBytes: Uint8Array = NO_BYTES;
  /** Goes with the object, also into the question whether it is gone. */
  #identity: Value | undefined;

  private constructor(
    provider: LifecycleProvider,
    sample: LifecycleSample,
    schema: ResourceSchema,
  ) {
    this.#provider = provider;
    this.#sample = sample;
    this.#schema = schema;
    this.type = typeOfBlock(schema.block);
    this.state = Value.null(this.type);
  }

  static async create(provider: LifecycleProvider, sample: LifecycleSample): Promise<Subject> {
    const { schema } = await provider.schema({});
    const resource = schema.resources.get(sample.type);
    if (resource === undefined) throw new Error(`the provider has no ${sample.type}`);
    return new Subject(provider, sample, resource);
  }

  object(config: SampleConfig | undefined): Value {
    if (config === undefined) return Value.null(this.type);
    const members = [...emptyObject(this.#schema.block).entries()].map(
      ([name, value]) => [name, config[name] ?? value] as const,
    );
    return Value.object(members);
  }

  async plan(members: SampleConfig | undefined): Promise<PlanReply> {
    const config = this.object(members);
    const reply = await this.#provider.plan(
      {
        type: this.#sample.type,
        prior: this.state,
        config,
        proposed: proposeState(this.#schema.block, this.state, config),
        priorPrivate: this.#privateBytes,
        ...(this.#identity && !this.state.isNull && { priorIdentity: this.#identity }),
        deferralAllowed: false,
      },
      {},
    );
    expect(reply.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    return reply;
  }

  async apply(
    members: SampleConfig | undefined,
  ): Promise<{ reply: ApplyReply; planned: Value | undefined }> {
    const { planned, plannedPrivate, plannedIdentity } =
      members === undefined
        ? {
            planned: Value.null(this.type),
            plannedPrivate: this.#privateBytes,
            plannedIdentity: this.#identity,
          }
        : await this.plan(members);
    const reply = await this.#provider.apply(
      {
        type: this.#sample.type,
        prior: this.state,
        config: this.object(members),
        planned: planned ?? Value.null(this.type),
        plannedPrivate,
        ...(plannedIdentity && { plannedIdentity }),
      },
      {},
    );
    this.state = reply.state;
    this.#privateBytes = reply.privateBytes;
    this.#identity = reply.identity ?? this.#identity;
    return { reply, planned };
  }

  async read(state = this.state): Promise<Value> {
    const reply = await this.#provider.read(
      {
        type: this.#sample.type,
        state,
        privateBytes: this.#privateBytes,
        ...(this.#identity && { identity: this.#identity }),
        deferralAllowed: false,
      },
      {},
    );
    expect(reply.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    return reply.state ?? Value.null(this.type);
  }

  /** A configured value is planned as it is; providers of the legacy type system may normalise it. */
  expectConfigKept(config: SampleConfig, { planned, legacyTypeSystem }: PlanReply): void {
    if (legacyTypeSystem) return;
    const members = new Map(planned?.entries() ?? []);
    for (const [name, value] of Object.entries(config)) {
      if (this.#schema.block.attributes.get(name)?.writeOnly === true) continue;
      expect(members.get(name)?.rawEquals(value), name).toBe(true);
    }
  }

  /** What was known before is equal now, and what was unknown is something that it could become. */
  expectRefines(before: Value | undefined, after: Value | undefined): void {
    const old = new Map(before?.entries() ?? []);
    for (const [name, value] of after?.entries() ?? []) {
      const was = old.get(name);
      const isRefined =
        was === undefined ||
        (was.isWhollyKnown ? was.rawEquals(value) : couldBecome(was, value) !== false);
      expect(isRefined, name).toBe(true);
    }
  }
}
