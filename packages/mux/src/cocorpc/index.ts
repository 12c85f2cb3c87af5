export { createCocorpcClient, serveCocorpcProvider } from "./cocorpc-grpc.ts";
export type { NamedCocorpcProvider } from "./cocorpc-mux.ts";
export { createCocorpcMux } from "./cocorpc-mux.ts";
export type { CocorpcProvider } from "./cocorpc-provider.ts";
export type { FromCocorpcOptions } from "./from-cocorpc.ts";
export { fromCocorpcProvider } from "./from-cocorpc.ts";
export { NAME_KEY } from "./properties.ts";
export type { ToCocorpcOptions } from "./to-cocorpc.ts";
export { toCocorpcProvider } from "./to-cocorpc.ts";
