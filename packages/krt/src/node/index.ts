export type { ChannelMessages } from "./channels.ts";
export { createChannels } from "./channels.ts";
