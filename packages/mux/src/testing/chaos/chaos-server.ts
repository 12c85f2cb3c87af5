import { CreateRequest } from "@stackwright/proto/pulumirpc";
import type { ResourceProvider } from "../../resource-provider.ts";
import { unimplementedProvider } from "../../unimplemented-provider.ts";

/** A provider of one type, `p:index:<name>`, whose creates answer with its name. */
export function namedProvider(
  name: string,
  methods: Partial<ResourceProvider> = {},
): ResourceProvider {
  return {
    ...unimplementedProvider(),
    getSchema: async () => namedSchema(name),
    configure: async () => ({
      acceptSecrets: true,
      supportsPreview: true,
      acceptResources: true,
      acceptOutputs: true,
      supportsAutonamingConfiguration: true,
    }),
    create: async () => ({ id: name, properties: undefined, refreshBeforeUpdate: false }),
    cancel: async () => ({}),
    ...methods,
  };
}

/** The schema of {@link namedProvider}. */
export function namedSchema(name: string): { readonly schema: string } {
  const schema = JSON.stringify({
    name: "p",
    resources: { [`p:index:${name}`]: { listInputs: {} } },
    functions: { [`p:index:get${name}`]: {} },
  });
  return { schema };
}

export function createOf(name: string): CreateRequest {
  return CreateRequest.create({ urn: `urn:pulumi:dev::shop::p:index:${name}::thing` });
}

/** Multiplies the sizes of random and long tests. */
export const RUNS = Number(process.env.STACKWRIGHT_RUNS ?? 1);
