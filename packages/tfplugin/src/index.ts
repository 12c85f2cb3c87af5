export type { TfpluginErrorCode, TfpluginErrorOptions, TfpluginStatus } from "./errors.ts";
export { TFPLUGIN_ERRORS, TfpluginError } from "./errors.ts";
export type { PluginTransport, TransportCall } from "./transport/plugin-transport.ts";
