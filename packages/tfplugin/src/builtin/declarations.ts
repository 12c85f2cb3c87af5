import { Type } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  FunctionSchema,
  ProviderSchema,
} from "@stackwright/mux/router";

type Use = "required" | "optional" | "computed";

function attribute(type: Type, use: Use, description: string): AttributeSchema {
  return {
    type,
    required: use === "required",
    optional: use === "optional",
    computed: use === "computed",
    sensitive: false,
    writeOnly: false,
    deprecated: false,
    description,
  };
}

function block(attributes: readonly (readonly [string, AttributeSchema])[]): BlockSchema {
  return { attributes: new Map(attributes), blocks: new Map(), deprecated: false, description: "" };
}

function functionOf(
  parameter: { readonly name: string; readonly type: Type; readonly allowUnknown: boolean },
  returnType: Type,
  summary: string,
): FunctionSchema {
  return {
    parameters: [{ ...parameter, allowNull: false, description: "" }],
    returnType,
    summary,
    description: "",
    deprecationMessage: "",
  };
}

/** What `terraform_data` looks like. */
export const DATA_BLOCK = block([
  ["id", attribute(Type.string, "computed", "A random id, new for every object.")],
  ["input", attribute(Type.dynamic, "optional", "Any value; a change of it updates the object.")],
  ["output", attribute(Type.dynamic, "computed", "The input, unknown until it was applied.")],
  [
    "triggers_replace",
    attribute(Type.dynamic, "optional", "Any value; a change of it replaces the object."),
  ],
]);

/** As an attribute whose description is Markdown. */
function documented(type: Type, use: Use, description: string): AttributeSchema {
  return { ...attribute(type, use, description), descriptionKind: "markdown" };
}

/** What `terraform_remote_state` looks like. */
const REMOTE_STATE_BLOCK = block([
  ["backend", documented(Type.string, "required", "Where the state lies: `local` or `http`.")],
  ["config", documented(Type.dynamic, "optional", "The settings of the backend, as an object.")],
  ["defaults", documented(Type.dynamic, "optional", "Values for outputs that the state lacks.")],
  ["outputs", documented(Type.dynamic, "computed", "The root outputs of the state, as an object.")],
  [
    "workspace",
    documented(Type.string, "optional", "The workspace, where the backend has several."),
  ],
]);

/** Everything that the built-in provider declares. Source: `terraform providers schema` of Terraform 1.11. */
export const BUILTIN_SCHEMA: ProviderSchema = {
  provider: block([]),
  resources: new Map([["terraform_data", { version: 0, block: DATA_BLOCK, stateOnly: true }]]),
  dataSources: new Map([["terraform_remote_state", { version: 0, block: REMOTE_STATE_BLOCK }]]),
  ephemeralResources: new Map(),
  functions: new Map([
    [
      "decode_tfvars",
      functionOf(
        { name: "src", type: Type.string, allowUnknown: false },
        Type.dynamic,
        "The values that a text in the syntax of a .tfvars file defines, as an object.",
      ),
    ],
    [
      "encode_expr",
      functionOf(
        { name: "value", type: Type.dynamic, allowUnknown: true },
        Type.string,
        "A value as an expression of the language.",
      ),
    ],
    [
      "encode_tfvars",
      functionOf(
        { name: "value", type: Type.dynamic, allowUnknown: true },
        Type.string,
        "An object in the syntax of a .tfvars file.",
      ),
    ],
  ]),
};
