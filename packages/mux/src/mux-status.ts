import type { AbsentServers } from "./absent-servers.ts";
import type { Routing } from "./routing.ts";
import type { ServerHealth } from "./server-handle.ts";

/** Condition of a mux, for operators and probes. */
export interface MuxStatus {
  readonly servers: readonly {
    readonly name: string;
    /** `absent`: left out by a degraded start, and tried again. */
    readonly health: ServerHealth | "absent";
    readonly running: number;
    readonly waiting: number;
    /** Tokens that it owns. */
    readonly resources: number;
    readonly functions: number;
    /** Why an absent server is not there. */
    readonly reason?: string;
  }[];
}

/** The servers in the routing, in order, then those that are absent. */
export function muxStatus({ servers, table }: Routing, absent: AbsentServers): MuxStatus {
  const owned = (owners: ReadonlyMap<string, number>, index: number) =>
    [...owners.values()].filter((owner) => owner === index).length;
  const present = servers.map(({ name, health, load }, index) => ({
    name,
    health,
    ...load,
    resources: owned(table.resources, index),
    functions: owned(table.functions, index),
  }));
  const missing = absent.all.map(({ server, reason }) => ({
    name: server.name,
    health: "absent" as const,
    running: 0,
    waiting: 0,
    resources: 0,
    functions: 0,
    reason: reason instanceof Error ? reason.message : String(reason),
  }));
  return { servers: [...present, ...missing] };
}
