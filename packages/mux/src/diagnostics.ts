import { channel } from "node:diagnostics_channel";

/** A call of a mux to one of its servers, when it has ended. */
export interface MuxCallMessage {
  /** Package that the mux serves. */
  readonly package: string;
  readonly server: string;
  /** Name of the method in the protocol, `Create`. */
  readonly method: string;
  /** From the moment the server was asked until it answered, in milliseconds. */
  readonly durationMs: number;
  /** Status code of a failed call; absent for a success. */
  readonly code?: string;
}

/** The routing of a mux was replaced: a server came, went, or gave another schema. */
export interface MuxTableMessage {
  readonly package: string;
  readonly servers: readonly string[];
  readonly resources: number;
  readonly functions: number;
}

/** Names of what this package publishes on `node:diagnostics_channel`; free without a subscriber. */
export const MUX_CHANNELS = {
  call: "stackwright.mux.call",
  table: "stackwright.mux.table",
} as const;

export const callChannel = channel(MUX_CHANNELS.call);
export const tableChannel = channel(MUX_CHANNELS.table);
