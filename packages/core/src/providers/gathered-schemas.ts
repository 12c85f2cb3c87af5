import type { ProviderSchema, ResourceSchema } from "@stackwright/mux/router";
import type { ConfigurationSchemas } from "../plan/configuration-json.ts";

/** The schemas of the providers that a plan started, as they became known. */
export class GatheredSchemas implements ConfigurationSchemas {
  readonly #schemas = new Map<string, ProviderSchema>();

  add(source: string, schema: ProviderSchema): void {
    this.#schemas.set(source, schema);
  }

  provider(source: string): ProviderSchema["provider"] | undefined {
    return this.#schemas.get(source)?.provider;
  }

  resource(
    source: string,
    { mode, type }: Parameters<ConfigurationSchemas["resource"]>[1],
  ): ResourceSchema | undefined {
    const schema = this.#schemas.get(source);
    return (mode === "managed" ? schema?.resources : schema?.dataSources)?.get(type);
  }
}
