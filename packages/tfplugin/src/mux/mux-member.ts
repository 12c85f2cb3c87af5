import type { PluginTransport } from "../transport/plugin-transport.ts";

/** A provider that is part of another one. */
export interface MuxMember {
  /** For diagnostics. */
  readonly name: string;
  readonly transport: PluginTransport;
}
