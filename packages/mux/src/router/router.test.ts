import { Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { ProviderDiagnostic } from "./diagnostic.ts";
import { joinLifecycleProviders } from "./join-providers.ts";
import type { LifecycleProvider, PlanResourceRequest } from "./lifecycle-provider.ts";
import { createRouter, formatProviderReference, type ProviderReference } from "./router.ts";
import type { AttributeSchema, BlockSchema, ProviderSchema } from "./schema.ts";

const STRING: AttributeSchema = {
  type: Type.string,
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};

function block(attributes: Record<string, AttributeSchema> = {}): BlockSchema {
  return {
    attributes: new Map(Object.entries(attributes)),
    blocks: new Map(),
    deprecated: false,
    description: "",
  };
}

interface FakeOptions {
  readonly resources?: readonly string[];
  readonly config?: BlockSchema;
  readonly planDestroy?: boolean;
  readonly configureError?: string;
  readonly schemaFailures?: number;
  readonly tokens?: ProviderSchema["tokens"];
}

/** A provider that writes down what it is asked and answers with nothing, or with what it was given. */
function fake(log: string[], name: string, options: FakeOptions = {}): LifecycleProvider {
  const { resources = [], config = block(), planDestroy = false, configureError } = options;
  let failures = options.schemaFailures ?? 0;
  const schema: ProviderSchema = {
    provider: config,
    resources: new Map(resources.map((type) => [type, { version: 0, block: block() }])),
    dataSources: new Map(),
    ephemeralResources: new Map(),
    functions: new Map(),
    ...(options.tokens && { tokens: options.tokens }),
  };
  const note = (what: string) => log.push(`${name}.${what}`);
  const nothing = (what: string) => () => {
    note(what);
    return Promise.resolve({ diagnostics: [] });
  };
  const unexpected = () => Promise.reject(new Error("not expected"));
  const close = () => {
    note("close");
    return Promise.resolve();
  };
  return {
    schema: () => {
      note("schema");
      if (failures > 0) {
        failures -= 1;
        return Promise.reject(new Error("not yet"));
      }
      const capabilities = { planDestroy, moveState: false, failedCreateIsClean: true };
      return Promise.resolve({ diagnostics: [], schema, capabilities });
    },
    validateProvider: nothing("validateProvider"),
    validateResource: (request) => nothing(`validate ${request.type}`)(),
    validateDataSource: unexpected,
    validateEphemeral: unexpected,
    configure: () => {
      note("configure");
      const error: ProviderDiagnostic = {
        severity: "error",
        summary: configureError ?? "",
        detail: "",
      };
      return Promise.resolve({ diagnostics: configureError === undefined ? [] : [error] });
    },
    upgrade: unexpected,
    move: (request) => nothing(`move to ${request.targetType}`)(),
    read: unexpected,
    plan: (request) => {
      note(`plan ${request.type}`);
      return Promise.resolve({
        diagnostics: [],
        planned: request.proposed,
        requiresReplace: [],
        plannedPrivate: new Uint8Array([1]),
        legacyTypeSystem: false,
      });
    },
    apply: unexpected,
    import: unexpected,
    readDataSource: unexpected,
    openEphemeral: unexpected,
    renewEphemeral: unexpected,
    closeEphemeral: unexpected,
    callFunction: unexpected,
    stop: () => {
      note("stop");
      return Promise.resolve();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function join(log: string[], ...members: FakeOptions[]) {
  return joinLifecycleProviders(
    members.map((options, index) => {
      const name = `p${index}`;
      return { name, provider: fake(log, name, options) };
    }),
  );
}

const validate = (type: string) => ({
  type,
  config: Value.emptyObject,
  writeOnlyAllowed: true,
});

function planOf(type: string, proposed: Value): PlanResourceRequest {
  return {
    type,
    prior: Value.emptyObject,
    config: proposed,
    proposed,
    priorPrivate: new Uint8Array([7]),
    deferralAllowed: false,
  };
}

describe("joinLifecycleProviders", () => {
  it("sends each type to its one owner, asking for schemas once", async () => {
    const log: string[] = [];
    const joined = join(log, { resources: ["a"] }, { resources: ["b"] });
    await joined.validateResource(validate("b"), {});
    await joined.validateResource(validate("a"), {});
    expect(log).toEqual(["p0.schema", "p1.schema", "p1.validate b", "p0.validate a"]);
    const { schema, diagnostics } = await joined.schema({});
    expect([...schema.resources.keys()]).toEqual(["a", "b"]);
    expect(diagnostics).toEqual([]);
  });

  it("knows the tokens of all, and none where no member has any", async () => {
    const dataSources = new Map<string, string>();
    const tokens = (token: string, name: string) => ({
      tokens: { resources: new Map([[token, name]]), dataSources },
    });
    const joined = join([], tokens("p::A", "p_a"), {}, tokens("p::B", "p_b"));
    const resources = new Map([
      ["p::A", "p_a"],
      ["p::B", "p_b"],
    ]);
    expect((await joined.schema({})).schema.tokens).toEqual({ resources, dataSources });
    expect((await join([], {}, {}).schema({})).schema).not.toHaveProperty("tokens");
  });

  it.each([
    ["first-wins", new Map(), "p0"],
    ["last-wins", new Map(), "p1"],
    ["error", new Map([["a", "p1"]]), "p1"],
    ["last-wins", new Map([["a", "p0"]]), "p0"],
  ] as const)("gives a shared name by %s and owners %o to %s", async (conflicts, owners, owner) => {
    const log: string[] = [];
    const members = ["p0", "p1"].map((name) => ({
      name,
      provider: fake(log, name, { resources: ["a"] }),
    }));
    const joined = joinLifecycleProviders(members, { conflicts, owners });
    expect((await joined.schema({})).diagnostics).toEqual([]);
    await joined.validateResource(validate("a"), {});
    expect(log.at(-1)).toBe(`${owner}.validate a`);
    expect((await joined.owners({})).resources).toEqual(new Map([["a", owner]]));
  });

  it("unites configurations: each member sees its own arguments", async () => {
    const seen: string[] = [];
    const member = (name: string, config: BlockSchema) => ({
      name,
      provider: {
        ...fake([], name, { config }),
        configure: async (request: { readonly config: Value }) => {
          seen.push(`${name} ${[...request.config.entries()].map(([key]) => key).join()}`);
          return Promise.resolve({ diagnostics: [] });
        },
      },
    });
    const joined = joinLifecycleProviders(
      [
        member("p0", block({ a: STRING, both: STRING })),
        member("p1", block({ b: STRING, both: { ...STRING, required: true, optional: false } })),
      ],
      { configuration: "united" },
    );
    const { schema, diagnostics } = await joined.schema({});
    expect(diagnostics).toEqual([]);
    expect([...schema.provider.attributes.keys()]).toEqual(["a", "both", "b"]);
    expect(schema.provider.attributes.get("both")).toMatchObject({
      required: true,
      optional: false,
    });
    const config = Value.object(["a", "both", "b"].map((name) => [name, Value.string("x")]));
    await joined.configure({ config, engineVersion: "1", deferralAllowed: false }, {});
    expect(seen).toEqual(["p0 a,both", "p1 b,both"]);
  });

  it("reports an argument that means something else for another member", async () => {
    const number = { ...STRING, type: Type.number };
    const joined = joinLifecycleProviders(
      [STRING, number].map((attribute, index) => ({
        name: `p${index}`,
        provider: fake([], `p${index}`, { config: block({ a: attribute }) }),
      })),
      { configuration: "united" },
    );
    expect((await joined.schema({})).diagnostics.map(({ detail }) => detail)).toEqual([
      "The argument a of the configuration must mean the same for p0 and p1; they differ in a (type).",
    ]);
  });

  it("reports a name that is given to a member which does not have it", async () => {
    const joined = joinLifecycleProviders(
      [{ name: "p0", provider: fake([], "p0", { resources: ["a"] }) }],
      { owners: new Map([["b", "p0"]]) },
    );
    expect((await joined.schema({})).diagnostics.map(({ detail }) => detail)).toEqual([
      "b is given to p0, which does not implement it.",
    ]);
  });

  it("reports every name with two owners at once, and lets none of them answer", async () => {
    const log: string[] = [];
    const joined = join(
      log,
      { resources: ["a", "b"] },
      { resources: ["b", "c"] },
      { resources: ["c"] },
    );
    const { diagnostics } = await joined.schema({});
    expect(diagnostics.map(({ detail }) => detail)).toEqual([
      "Duplicate resource: b is implemented by p0, p1.",
      "Duplicate resource: c is implemented by p1, p2.",
    ]);
    const reply = await joined.validateResource(validate("b"), {});
    expect(reply.diagnostics[0]).toMatchObject({ summary: "Resource Not Implemented" });
    expect(log).toEqual(["p0.schema", "p1.schema", "p2.schema"]);
  });

  it("says where configuration schemas differ, and ignores descriptions", async () => {
    const same = { ...STRING, description: "other words" };
    const number = { ...STRING, type: Type.number };
    const equal = join([], { config: block({ a: STRING }) }, { config: block({ a: same }) });
    expect((await equal.schema({})).diagnostics).toEqual([]);
    const different = join([], { config: block({ a: STRING }) }, { config: block({ a: number }) });
    expect((await different.schema({})).diagnostics[0]?.detail).toContain("differ in a (type)");
  });

  it("configures one after the other and stops at the first error", async () => {
    const log: string[] = [];
    const joined = join(log, {}, { configureError: "no region" }, {});
    const config = { config: Value.emptyObject, engineVersion: "0", deferralAllowed: false };
    const { diagnostics } = await joined.configure(config, {});
    expect(diagnostics.map(({ summary }) => summary)).toEqual(["no region"]);
    expect(log).toEqual(["p0.configure", "p1.configure"]);
  });

  it("plans a delete itself for an owner that does not want to be asked", async () => {
    const log: string[] = [];
    const joined = join(log, { resources: ["a"] }, { resources: ["b"], planDestroy: true });
    const gone = Value.null(Value.emptyObject.type);
    const reply = await joined.plan(planOf("a", gone), {});
    expect(reply.planned?.isNull).toBe(true);
    expect(reply.plannedPrivate).toEqual(new Uint8Array([7]));
    await joined.plan(planOf("b", gone), {});
    await joined.plan(planOf("a", Value.emptyObject), {});
    expect(log.slice(2)).toEqual(["p1.plan b", "p0.plan a"]);
  });

  it("moves by the target type", async () => {
    const log: string[] = [];
    const joined = join(log, { resources: ["a"] }, { resources: ["b"] });
    const source = { schemaVersion: 0, json: "{}" };
    const common = { sourceProvider: "p", sourcePrivate: new Uint8Array(), source };
    await joined.move({ ...common, sourceType: "a", targetType: "b" }, {});
    expect(log.at(-1)).toBe("p1.move to b");
  });

  it("asks again after a provider could not give its schema", async () => {
    const joined = join([], { resources: ["a"], schemaFailures: 1 });
    await expect(joined.schema({})).rejects.toThrow("not yet");
    await expect(joined.schema({})).resolves.toBeDefined();
  });
});

describe("createRouter", () => {
  const RANDOM: ProviderReference = {
    source: "example.com/ns/random",
    version: "1.0.0",
    alias: "",
  };

  it("keeps aliases, versions and equally named types of two sources apart", async () => {
    const log: string[] = [];
    await using router = createRouter();
    const references: ProviderReference[] = [
      RANDOM,
      { ...RANDOM, alias: "other" },
      { ...RANDOM, version: "2.0.0" },
      { ...RANDOM, source: "elsewhere.com/ns/random" },
    ];
    for (const reference of references) {
      const name = formatProviderReference(reference);
      const provider = fake(log, name, { resources: ["thing"] });
      router.register({ reference, providers: [{ name, provider }] });
    }
    for (const reference of references) {
      await router.provider(reference).validateResource(validate("thing"), {});
    }
    expect(log).toEqual([
      "example.com/ns/random@1.0.0.validate thing",
      "example.com/ns/random@1.0.0 (other).validate thing",
      "example.com/ns/random@2.0.0.validate thing",
      "elsewhere.com/ns/random@1.0.0.validate thing",
    ]);
  });

  it("says what there is of a source when the version is another", () => {
    const router = createRouter();
    router.register({ reference: RANDOM, providers: [{ name: "r", provider: fake([], "r") }] });
    expect(() => router.provider({ ...RANDOM, version: "9.0.0" })).toThrow(
      /no provider example.com\/ns\/random@9.0.0; of this source there is example.com\/ns\/random@1.0.0/,
    );
  });

  it("refuses a second provider for one reference", () => {
    const router = createRouter();
    const registration = {
      reference: RANDOM,
      providers: [{ name: "r", provider: fake([], "r") }],
    } as const;
    router.register(registration);
    expect(() => router.register(registration)).toThrow(/registered already/);
  });

  it("stops and closes everything it was given, once", async () => {
    const log: string[] = [];
    const router = createRouter();
    for (const alias of ["", "x"]) {
      const name = `p${alias}`;
      const reference = { ...RANDOM, alias };
      router.register({ reference, providers: [{ name, provider: fake(log, name) }] });
    }
    await router.stop();
    await Promise.all([router.close(), router.close()]);
    expect(log).toEqual(["p.stop", "px.stop", "p.close", "px.close"]);
    expect(() => router.provider(RANDOM)).toThrow(expect.objectContaining({ code: "MUX_CLOSED" }));
  });
});
