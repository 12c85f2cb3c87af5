export { checkBridgeSource } from "./check-bridge-source.ts";
export type { StaticBridgeSourceOptions } from "./static-bridge-source.ts";
export { createStaticBridgeSource } from "./static-bridge-source.ts";
