export { adaptCocorpcProvider } from "./adapt-cocorpc.ts";
export type { PulumiAdapterOptions } from "./adapt-pulumi.ts";
export { adaptPulumiProvider } from "./adapt-pulumi.ts";
export { withDynamicSchema } from "./dynamic-provider.ts";
export type { ToPulumiProviderOptions } from "./to-pulumi-provider.ts";
export { toPulumiProvider } from "./to-pulumi-provider.ts";
