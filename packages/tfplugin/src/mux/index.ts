export type { MuxMember } from "./mux-member.ts";
export { createPluginMux } from "./plugin-mux.ts";
export { downgradeToProtocol5, upgradeToProtocol6 } from "./translate.ts";
