import type { ProviderSchema } from "../router/schema.ts";
import { type Attributes, blockOfAttributes } from "./attribute.ts";
import type { ProviderDefinition } from "./definition.ts";

/** What a provider declares, from its definition. */
export function schemaOf<C extends Attributes, Client>(
  definition: ProviderDefinition<C, Client>,
): ProviderSchema {
  const { resources = {}, dataSources = {}, functions = {} } = definition;
  return {
    provider: blockOfAttributes(definition.config, definition.description),
    resources: new Map(
      Object.entries(resources).map(([type, { attributes, description, version = 0 }]) => [
        type,
        { version, block: blockOfAttributes(attributes, description) },
      ]),
    ),
    dataSources: new Map(
      Object.entries(dataSources).map(([type, { attributes, description }]) => [
        type,
        { version: 0, block: blockOfAttributes(attributes, description) },
      ]),
    ),
    ephemeralResources: new Map(),
    functions: new Map(
      Object.entries(functions).map(([name, { parameters, result, summary, description }]) => [
        name,
        {
          parameters: parameters.map((parameter) => ({
            name: parameter.name,
            type: parameter.type.type,
            allowNull: false,
            allowUnknown: false,
            description: parameter.description ?? "",
          })),
          returnType: result.type,
          summary: summary ?? "",
          description: description ?? "",
          deprecationMessage: "",
        },
      ]),
    ),
  };
}
