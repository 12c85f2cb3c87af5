import { Type } from "@stackwright/cty";
import { asObject, type PackageSchema } from "../core/package-schema.ts";
import type { ProviderDiagnostic } from "../router/diagnostic.ts";
import type { ProviderSchema } from "../router/schema.ts";
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
  const functionNames = nameTokens(Object.keys(asObject(schema.functions)));
  const resources = membersOf(resourceNames, (token) =>
    memberShapes(types, resourceSpec(asObject(schema.resources)[token]), true),
  );
  const functions = membersOf(functionNames, (token) =>
    memberShapes(types, functionSpec(asObject(schema.functions)[token]), false),
  );
  const schemas = (members: ReadonlyMap<string, Member>) =>
    new Map([...members].map(([name, { shapes }]) => [name, { version: 0, block: shapes.block }]));
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

function membersOf(
  { tokens }: TokenNames,
  shapesOf: (token: string) => MemberShapes,
): ReadonlyMap<string, Member> {
  const byToken = new Map<string, Member>();
  return new Map(
    [...tokens].map(([name, token]) => {
      const member = byToken.get(token) ?? { token, shapes: shapesOf(token) };
      byToken.set(token, member);
      return [name, member];
    }),
  );
}

/** The type of objects with these attributes. */
export function typeOfShapes(shapes: ReadonlyMap<string, PropertyShape>): Type {
  return Type.object([...shapes].map(([name, shape]) => [name, typeOfShape(shape)] as const));
}
