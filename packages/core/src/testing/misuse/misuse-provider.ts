import { Type, Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type LifecycleProvider,
  type ProviderSchema,
  typeOfBlock,
} from "@stackwright/mux/router";
import { createMockProvider, MockCloud } from "../conformance/mock-provider.ts";

type Traits = Partial<Pick<AttributeSchema, "required" | "computed" | "writeOnly" | "sensitive">>;

function attribute(type: Type, traits: Traits = {}): AttributeSchema {
  const { required = false, computed = false, writeOnly = false, sensitive = false } = traits;
  const optional = !required && !computed;
  const plain = { deprecated: false, description: "" };
  return { type, required, optional, computed, sensitive, writeOnly, ...plain };
}

const block = (
  attributes: Readonly<Record<string, AttributeSchema>>,
  blocks: BlockSchema["blocks"] = new Map(),
): BlockSchema => ({
  attributes: new Map(Object.entries(attributes)),
  blocks,
  deprecated: false,
  description: "",
});

const { string, number } = Type;
const NONE = { resources: new Map(), dataSources: new Map(), ephemeralResources: new Map() };

/** As much of the provider lab as the cases use. */
const LAB: ProviderSchema = {
  provider: block({
    directory: attribute(string, { required: true }),
    token: attribute(string, { sensitive: true }),
  }),
  resources: new Map([
    [
      "lab_object",
      {
        version: 1,
        block: block({
          id: attribute(string, { computed: true }),
          name: attribute(string, { required: true }),
          size: attribute(number, { computed: true }),
          tags: attribute(Type.map(string)),
          network: attribute(Type.object({ cidr: string })),
          payload: attribute(Type.dynamic),
          password: attribute(string, { writeOnly: true }),
          password_version: attribute(number),
        }),
      },
    ],
  ]),
  dataSources: new Map([
    [
      "lab_objects",
      {
        version: 0,
        block: block({
          prefix: attribute(string),
          objects: attribute(Type.list(string), { computed: true }),
        }),
      },
    ],
  ]),
  ephemeralResources: new Map([
    [
      "lab_lease",
      {
        version: 0,
        block: block({
          name: attribute(string, { required: true }),
          secret: attribute(string, { computed: true, sensitive: true }),
        }),
      },
    ],
  ]),
  functions: new Map(),
};

const SOURCE = block({ filename: attribute(string), content: attribute(string) });

/** As much of the provider archive as the cases use. */
const ARCHIVE: ProviderSchema = {
  ...NONE,
  provider: block({}),
  dataSources: new Map([
    [
      "archive_file",
      {
        version: 0,
        block: block(
          { type: attribute(string), output_path: attribute(string) },
          new Map([
            ["source", { nesting: "set" as const, block: SOURCE, minItems: 0, maxItems: 0 }],
          ]),
        ),
      },
    ],
  ]),
  functions: new Map(),
};

/** Providers with the types of the cases, which accept everything. */
export const MISUSE_PROVIDERS: Readonly<Record<string, () => LifecycleProvider>> = {
  "example.com/acme/lab": () => provider(LAB),
  "registry.terraform.io/hashicorp/archive": () => provider(ARCHIVE),
};

function provider(schema: ProviderSchema): LifecycleProvider {
  const mock = createMockProvider(new MockCloud());
  const blockOf = (types: ProviderSchema["resources"], type: string): BlockSchema =>
    types.get(type)?.block ?? block({});
  return {
    ...mock,
    schema: async () => ({ ...(await mock.schema({})), schema }),
    plan: async ({ type, config, proposed }) => {
      const known = blockOf(schema.resources, type);
      return Promise.resolve({
        diagnostics: [],
        planned: config.isNull ? config : answer(known, proposed, (open) => Value.unknown(open)),
        requiresReplace: [],
        plannedPrivate: new Uint8Array(),
        legacyTypeSystem: false,
      });
    },
    readDataSource: async ({ type, config }) => {
      const state = answer(blockOf(schema.dataSources, type), config, (open) => Value.null(open));
      return Promise.resolve({ diagnostics: [], state });
    },
    openEphemeral: async ({ type, config }) => {
      const known = blockOf(schema.ephemeralResources, type);
      const result = answer(known, config, () => Value.string("secret"));
      return Promise.resolve({ diagnostics: [], result, privateBytes: new Uint8Array([0]) });
    },
    closeEphemeral: async () => Promise.resolve({ diagnostics: [] }),
  };
}

/** The configuration with what the provider decides, and without what is only written. */
function answer(known: BlockSchema, config: Value, decide: (type: Type) => Value): Value {
  const { names } = typeOfBlock(known);
  const given = new Map(config.entries());
  return Value.object(
    names.map((name) => {
      const { computed, writeOnly, type } = known.attributes.get(name) ?? attribute(Type.dynamic);
      if (computed) return [name, decide(type)] as const;
      return [name, writeOnly ? Value.null(type) : (given.get(name) ?? Value.null(type))] as const;
    }),
  );
}
