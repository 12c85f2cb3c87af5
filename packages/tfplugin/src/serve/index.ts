export { serveLifecycleProvider } from "./lifecycle-transport.ts";
export type { ReattachServer, ReattachServerOptions } from "./reattach-server.ts";
export { startReattachServer } from "./reattach-server.ts";
export type { ReloadingTransport, ReloadingTransportOptions } from "./reloading-transport.ts";
export { openReloadingTransport } from "./reloading-transport.ts";
export type { ProviderFactory, ServeOptions } from "./serve-provider.ts";
export { serveTerraformProvider } from "./serve-provider.ts";
