import { type Channel, channel } from "node:diagnostics_channel";
import type { DeliveryInfo, Instrumentation, InstrumentedNode } from "../instrumentation.ts";

/** Names of the diagnostics channels, with the messages published on them. */
export interface ChannelMessages {
  /** A turn was committed. */
  "krt.turn": { readonly turn: number; readonly nodes: readonly InstrumentedNode[] };
  /** A collection was processed in a turn, or a slice of it. */
  "krt.process": { readonly turn: number; readonly node: InstrumentedNode };
  /** A handler is about to be called. */
  "krt.deliver": DeliveryInfo;
}

/**
 * Instrumentation that publishes on `node:diagnostics_channel`, for tools that observe a process without
 * support from the application. Builds no messages for channels without subscribers.
 */
export function createChannels(): Instrumentation {
  const publish = <N extends keyof ChannelMessages>(
    name: N,
    make: () => ChannelMessages[N],
  ): void => {
    publishOn(channel(name), make);
  };
  return {
    nodeEnd(node, turn) {
      publish("krt.process", () => ({ turn, node }));
    },
    turnEnd(turn, nodes) {
      publish("krt.turn", () => ({ turn, nodes }));
    },
    deliver(delivery, call) {
      publish("krt.deliver", () => delivery);
      return call();
    },
  };
}

function publishOn(target: Channel, make: () => unknown): void {
  if (target.hasSubscribers) target.publish(make());
}
