export { schemaEnvironment } from "./cache/schema-environment.ts";
export { createSchemaFolder, type EncodedSchema, type SchemaStore } from "./cache/schema-folder.ts";
export type { PluginClientOptions } from "./client/client-options.ts";
export { createPluginClient } from "./client/plugin-client.ts";
export type { CachedSchema, SchemaCache } from "./client/schema-cache.ts";
export { createSchemaCache } from "./client/schema-cache.ts";
export type { TfpluginErrorCode, TfpluginErrorOptions, TfpluginStatus } from "./errors.ts";
export { TFPLUGIN_ERRORS, TfpluginError } from "./errors.ts";
export type { PluginTransport, TransportCall } from "./transport/plugin-transport.ts";
