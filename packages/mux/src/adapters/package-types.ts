import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { Type } from "@stackwright/cty";
import { asObject, type PackageSchema, readStringArray } from "../core/package-schema.ts";
import type { AttributeSchema, BlockSchema } from "../router/schema.ts";

/** What a Pulumi type is for conversions: mostly its cty type, with what that alone does not say. */
export type PropertyShape =
  | { readonly kind: "string" | "number" | "bool" | "any" | "asset" | "archive" }
  | { readonly kind: "list" | "map"; readonly element: PropertyShape }
  | { readonly kind: "object"; readonly members: ReadonlyMap<string, PropertyShape> };

/** A file, or a tree of files, in a template: one of the members is set. */
const ASSET = Type.object({ path: Type.string, text: Type.string, uri: Type.string });
const ARCHIVE = Type.object({ assets: Type.dynamic, path: Type.string, uri: Type.string });

/** The cty type of values of a shape. */
export function typeOfShape(shape: PropertyShape): Type {
  switch (shape.kind) {
    case "string":
      return Type.string;
    case "number":
      return Type.number;
    case "bool":
      return Type.bool;
    case "any":
      return Type.dynamic;
    case "asset":
      return ASSET;
    case "archive":
      return ARCHIVE;
    case "list": {
      const element = typeOfShape(shape.element);
      return element.hasDynamic ? Type.dynamic : Type.list(element);
    }
    case "map": {
      const element = typeOfShape(shape.element);
      return element.hasDynamic ? Type.dynamic : Type.map(element);
    }
    case "object":
      return Type.object(
        [...shape.members].map(([name, member]) => [name, typeOfShape(member)] as const),
      );
    default:
      return shape satisfies never;
  }
}

const SIMPLE_SHAPES: ReadonlyMap<JsonValue | undefined, PropertyShape> = new Map([
  ["string", { kind: "string" }],
  ["number", { kind: "number" }],
  ["integer", { kind: "number" }],
  ["boolean", { kind: "bool" }],
]);

/**
 * Reads the types of a package schema. References to other packages, unions of different types, and types that
 * contain themselves (a value of the template language has a finite type) are `any`.
 */
export class PackageTypes {
  readonly #types: JsonObject;
  readonly #open = new Set<string>();

  constructor(schema: PackageSchema) {
    this.#types = asObject(schema.types);
  }

  /** Shapes of the properties of a resource, function or object type. */
  shapesOf(properties: JsonValue | undefined): ReadonlyMap<string, PropertyShape> {
    return new Map(
      Object.entries(asObject(properties)).map(([name, spec]) => [name, this.shapeOf(spec)]),
    );
  }

  shapeOf(spec: JsonValue | undefined): PropertyShape {
    const { type, items, additionalProperties, oneOf, $ref } = asObject(spec);
    if (typeof $ref === "string") return this.#referenced($ref, type);
    if (Array.isArray(oneOf)) return this.#united(oneOf as readonly JsonValue[]);
    if (type === "array") return { kind: "list", element: this.shapeOf(items) };
    if (type === "object") {
      // Without a type of its members a map holds strings.
      const element = this.shapeOf(additionalProperties ?? { type: "string" });
      return { kind: "map", element };
    }
    return SIMPLE_SHAPES.get(type) ?? { kind: "any" };
  }

  #referenced(reference: string, fallback: JsonValue | undefined): PropertyShape {
    if (reference === "pulumi.json#/Asset") return { kind: "asset" };
    if (reference === "pulumi.json#/Archive") return { kind: "archive" };
    const token = /^#\/types\/(.+)$/.exec(reference)?.[1];
    if (token === undefined) {
      return typeof fallback === "string" ? this.shapeOf({ type: fallback }) : { kind: "any" };
    }
    const name = decodeURIComponent(token);
    const definition = this.#types[name];
    if (definition === undefined || this.#open.has(name)) return { kind: "any" };
    const { type, properties } = asObject(definition);
    if (type !== "object") return this.shapeOf({ type: type ?? "string" });
    this.#open.add(name);
    try {
      return { kind: "object", members: this.shapesOf(properties) };
    } finally {
      this.#open.delete(name);
    }
  }

  #united(choices: readonly JsonValue[]): PropertyShape {
    const shapes = choices.map((choice) => this.shapeOf(choice));
    const [first] = shapes;
    if (first === undefined) return { kind: "any" };
    const type = typeOfShape(first);
    const same = shapes.every(
      (shape) => shape.kind === first.kind && typeOfShape(shape).equals(type),
    );
    return same ? first : { kind: "any" };
  }
}

/** A resource or function of a package, as far as conversions need it. */
export interface MemberShapes {
  readonly inputs: ReadonlyMap<string, PropertyShape>;
  readonly outputs: ReadonlyMap<string, PropertyShape>;
  /** Both together: the attributes of an object. */
  readonly all: ReadonlyMap<string, PropertyShape>;
  /** The attributes that a provider knows of: all but an id that only we made one of them. */
  readonly stored: ReadonlyMap<string, PropertyShape>;
  readonly block: BlockSchema;
}

interface MemberSpec {
  readonly inputs: JsonObject;
  readonly requiredInputs: readonly string[];
  readonly outputs: JsonObject;
  readonly description: string;
  readonly deprecated: boolean;
}

/**
 * Shapes and block of a resource (or a function as data source). What is an input and an output is optional and
 * computed, as providers fill in defaults; an output alone is computed.
 */
export function memberShapes(types: PackageTypes, spec: MemberSpec, id: boolean): MemberShapes {
  const inputs = types.shapesOf(spec.inputs);
  const outputs = new Map(types.shapesOf(spec.outputs));
  const stored = new Map([...outputs, ...inputs]);
  // A provider's id stands beside the properties; here it is one of them.
  if (id && !outputs.has("id") && !inputs.has("id")) outputs.set("id", { kind: "string" });
  const all = new Map([...outputs, ...inputs]);
  const attributes = [...all].map(([name, shape]): [string, AttributeSchema] => {
    const details = { ...asObject(spec.outputs[name]), ...asObject(spec.inputs[name]) };
    const isInput = inputs.has(name);
    const required = isInput && spec.requiredInputs.includes(name);
    return [
      name,
      {
        type: typeOfShape(shape),
        required,
        optional: isInput && !required,
        computed: !required && outputs.has(name),
        sensitive: details.secret === true,
        writeOnly: false,
        deprecated: typeof details.deprecationMessage === "string",
        description: typeof details.description === "string" ? details.description : "",
      },
    ];
  });
  return {
    inputs,
    outputs,
    all,
    stored,
    block: {
      attributes: new Map(attributes),
      blocks: new Map(),
      deprecated: spec.deprecated,
      description: spec.description,
    },
  };
}

/** The parts of a resource of a package schema. */
export function resourceSpec(resource: JsonValue | undefined): MemberSpec {
  const { inputProperties, requiredInputs, properties, ...rest } = asObject(resource);
  return {
    inputs: asObject(inputProperties),
    requiredInputs: readStringArray(requiredInputs),
    outputs: asObject(properties),
    ...textsOf(rest),
  };
}

/** The parts of a function of a package schema; a result that is no object has one output, `result`. */
export function functionSpec(declared: JsonValue | undefined): MemberSpec {
  const { inputs, outputs, returnType, ...rest } = asObject(declared);
  const result = asObject(returnType ?? outputs);
  return {
    inputs: asObject(asObject(inputs).properties),
    requiredInputs: readStringArray(asObject(inputs).required),
    outputs: result.properties === undefined ? {} : asObject(result.properties),
    ...textsOf(rest),
  };
}

function textsOf({ description, deprecationMessage }: JsonObject) {
  return {
    description: typeof description === "string" ? description : "",
    deprecated: typeof deprecationMessage === "string",
  };
}
