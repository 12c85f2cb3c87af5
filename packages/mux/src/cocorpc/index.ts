export type { FromLegacyOptions } from "./from-legacy.ts";
export { fromLegacyProvider } from "./from-legacy.ts";
export { createLegacyClient, serveLegacyProvider } from "./legacy-grpc.ts";
export type { NamedLegacyProvider } from "./legacy-mux.ts";
export { createLegacyMux } from "./legacy-mux.ts";
export type { LegacyProvider } from "./legacy-provider.ts";
export { NAME_KEY } from "./properties.ts";
export type { ToLegacyOptions } from "./to-legacy.ts";
export { toLegacyProvider } from "./to-legacy.ts";
