import type { JsonObject } from "@stackwright/base/json";
import { Type } from "@stackwright/cty";
import { asObject, type PackageSchema } from "../core/package-schema.ts";
import type { ProviderDiagnostic } from "../router/diagnostic.ts";
import type { ProviderSchema } from "../router/schema.ts";
import type { ComponentAttributes } from "./component-object.ts";
import { type MethodOf, SELF_ARGUMENT } from "./method-call.ts";
import {
  functionSpec,
  type MemberShapes,
  memberShapes,
  PackageTypes,
  type PropertyShape,
  resourceSpec,
  typeOfShape,
} from "./package-types.ts";
import { nameTokens, type TokenNames } from "./token-name.ts";

/** A resource or data source under one of its names. */
export interface Member {
  readonly token: string;
  readonly shapes: MemberShapes;
  /** Of a component: it is no object of a provider, but what a program makes of several. */
  readonly component?: ComponentAttributes;
  /** Of a function that is the method of a resource. */
  readonly method?: MethodOf;
}

/** The package as it is used: names resolved, shapes made. */
export interface Package {
  readonly name: string;
  readonly schema: ProviderSchema;
  readonly config: MemberShapes;
  readonly resources: ReadonlyMap<string, Member>;
  readonly functions: ReadonlyMap<string, Member>;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

/** Makes the package of its schema: names of all tokens, and their shapes. */
export function readPackage(schema: PackageSchema): Package {
  const types = new PackageTypes(schema);
  const variables = asObject(asObject(schema.config).variables);
  const provider = resourceSpec(schema.provider);
  const config = memberShapes(
    types,
    { ...provider, inputs: { ...variables, ...provider.inputs }, outputs: {} },
    false,
  );
  const resourceNames = nameTokens(Object.keys(asObject(schema.resources)));
  // Methods of the provider itself are for programs that make their providers.
  const tokens = Object.keys(asObject(schema.functions));
  const functionNames = nameTokens(
    tokens.filter((token) => !token.startsWith("pulumi:providers:")),
  );
  const resources = membersOf(resourceNames, (token) =>
    resourceMember(types, token, asObject(asObject(schema.resources)[token])),
  );
  const functions = membersOf(functionNames, (token) =>
    functionMember(types, token, asObject(asObject(schema.functions)[token])),
  );
  const schemas = (members: ReadonlyMap<string, Member>) =>
    new Map(
      [...members].map(([name, { shapes, component }]) => [
        name,
        { version: 0, block: shapes.block, ...(component !== undefined && { hasNotes: true }) },
      ]),
    );
  return {
    name: schema.name ?? "",
    config,
    resources,
    functions,
    diagnostics: [...resourceNames.collisions, ...functionNames.collisions].map(
      ({ name, tokens, names }) => ({
        severity: "warning",
        summary: "Several types of one name",
        detail: `${tokens.join(", ")} would all be called ${name}; they are called ${names.join(", ")}.`,
      }),
    ),
    schema: {
      provider: config.block,
      resources: schemas(resources),
      dataSources: schemas(functions),
      ephemeralResources: new Map(),
      functions: new Map(),
      ambiguous: new Map(
        [...resourceNames.collisions, ...functionNames.collisions].map(({ name, names }) => [
          name,
          names,
        ]),
      ),
      tokens: { resources: resourceNames.names, dataSources: functionNames.names },
    },
  };
}

function resourceMember(types: PackageTypes, token: string, declared: JsonObject): Member {
  const spec = resourceSpec(declared);
  if (declared.isComponent !== true) return { token, shapes: memberShapes(types, spec, true) };
  const free = (name: string): string =>
    name in spec.inputs || name in spec.outputs ? `component_${name}` : name;
  const component = { urn: free("urn"), children: free("children") };
  const outputs = {
    ...spec.outputs,
    [component.urn]: { type: "string", description: "Names the component in its program." },
    [component.children]: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Ids of what it made, by type and name.",
    },
  };
  return { token, component, shapes: memberShapes(types, { ...spec, outputs }, false) };
}

function functionMember(types: PackageTypes, token: string, declared: JsonObject): Member {
  const spec = functionSpec(declared);
  const { [SELF_ARGUMENT]: given, ...others } = spec.inputs;
  if (given === undefined) return { token, shapes: memberShapes(types, spec, false) };
  const self = "self" in others ? SELF_ARGUMENT : "self";
  const shapes = memberShapes(
    types,
    {
      ...spec,
      inputs: {
        ...others,
        [self]: { $ref: "pulumi.json#/Any", description: "The resource whose method is called." },
      },
      requiredInputs: [...spec.requiredInputs.filter((name) => name !== SELF_ARGUMENT), self],
    },
    false,
  );
  const reference = asObject(given).$ref;
  const type =
    typeof reference === "string"
      ? decodeURIComponent(reference.replace(/^#\/resources\//, ""))
      : "";
  return { token, shapes, method: { type, self } };
}

function membersOf(
  { tokens }: TokenNames,
  memberOf: (token: string) => Member,
): ReadonlyMap<string, Member> {
  const byToken = new Map<string, Member>();
  return new Map(
    [...tokens].map(([name, token]) => {
      const member = byToken.get(token) ?? memberOf(token);
      byToken.set(token, member);
      return [name, member];
    }),
  );
}

/** The type of objects with these attributes. */
export function typeOfShapes(shapes: ReadonlyMap<string, PropertyShape>): Type {
  return Type.object([...shapes].map(([name, shape]) => [name, typeOfShape(shape)] as const));
}
