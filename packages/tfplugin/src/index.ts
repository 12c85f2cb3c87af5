export type { PluginTransport, TransportCall } from "./transport/plugin-transport.ts";
