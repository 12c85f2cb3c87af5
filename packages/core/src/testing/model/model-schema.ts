import { Type } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  ProviderSchema,
  ResourceSchema,
} from "@stackwright/mux/router";

/** Source address of the model provider. */
export const MODEL_SOURCE = "example.com/stackwright/model";

/**
 * Types of the model provider.
 *
 * - `model_thing`: its id is chosen by the cloud; nobody can find one that was made and forgotten.
 * - `model_named`: its id is its name, so that a lost one can be found; a second one of a name is refused.
 */
export const MODEL_TYPES = ["model_thing", "model_named"] as const;

const attribute = (type: Type, members: Partial<AttributeSchema>): AttributeSchema => ({
  type,
  required: false,
  optional: false,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
  ...members,
});

const block = (attributes: Readonly<Record<string, AttributeSchema>>): BlockSchema => ({
  attributes: new Map(Object.entries(attributes)),
  blocks: new Map(),
  deprecated: false,
  description: "",
});

const RESOURCE: ResourceSchema = {
  version: 1,
  block: block({
    id: attribute(Type.string, { computed: true }),
    /** Another value needs another object. */
    name: attribute(Type.string, { required: true }),
    /** Another value needs another object. */
    kind: attribute(Type.string, { optional: true }),
    /** Changed in place. */
    size: attribute(Type.number, { optional: true }),
    /** Ids of other objects. */
    links: attribute(Type.list(Type.string), { optional: true }),
    secret: attribute(Type.string, { optional: true, sensitive: true }),
    /** Told and not kept; another version says that it is to be told again. */
    token_wo: attribute(Type.string, { optional: true, writeOnly: true }),
    token_version: attribute(Type.number, { optional: true }),
    /** Another one after every change. */
    serial: attribute(Type.number, { computed: true }),
    /** Chosen by the cloud where the configuration does not. */
    zone: attribute(Type.string, { optional: true, computed: true }),
  }),
};

const NAME_IDENTITY: NonNullable<ResourceSchema["identity"]> = {
  version: 0,
  attributes: new Map([
    [
      "name",
      { type: Type.string, requiredForImport: true, optionalForImport: false, description: "" },
    ],
  ]),
};

const LOOKUP: ResourceSchema = {
  version: 0,
  block: block({
    id: attribute(Type.string, { required: true }),
    found: attribute(Type.bool, { computed: true }),
    size: attribute(Type.number, { computed: true }),
  }),
};

/** What is lent for the time of a run. */
const LEASE: ResourceSchema = {
  version: 0,
  block: block({
    name: attribute(Type.string, { required: true }),
    note: attribute(Type.string, { optional: true }),
    /** Whether it runs out soon unless it is renewed. */
    renews: attribute(Type.bool, { optional: true }),
    token: attribute(Type.string, { computed: true }),
  }),
};

/** What the model provider declares. */
export const MODEL_SCHEMA: ProviderSchema = {
  provider: block({ label: attribute(Type.string, { optional: true }) }),
  resources: new Map([
    ["model_thing", RESOURCE],
    ["model_named", { ...RESOURCE, identity: NAME_IDENTITY }],
  ]),
  dataSources: new Map([["model_lookup", LOOKUP]]),
  ephemeralResources: new Map([["model_lease", LEASE]]),
  functions: new Map(),
};

/** Attributes whose change needs another object. */
export const FORCE_NEW = ["name", "kind"] as const;
