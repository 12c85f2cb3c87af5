import type { SchemaStore } from "../cache/schema-folder.ts";
import type { SchemaCache } from "./schema-cache.ts";

/** Options of a client. */
export interface PluginClientOptions {
  /** Where schemas are kept between clients; needs {@link schemaKey}. @default none */
  readonly schemaCache?: SchemaCache;
  /** Where schemas are kept beyond the process; needs {@link schemaKey}. @default none */
  readonly schemaStore?: SchemaStore;
  /** What the schema depends on, such as the digest of the provider's program. */
  readonly schemaKey?: string;
  /**
   * Ask for resource identities, a call that providers before protocol 5.9 and 6.9 do not have.
   * @default true
   */
  readonly identities?: boolean;
}
