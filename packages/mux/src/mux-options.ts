import { type Clock, systemClock } from "@stackwright/base/clock";
import type { DispatchTable } from "./core/dispatch-table.ts";
import type { MergePolicy } from "./core/merge-schemas.ts";
import { MuxError } from "./errors.ts";
import type { HostSlot } from "./host-client.ts";
import type { MappingHandler } from "./mapping.ts";
import type { ResourceProvider } from "./resource-provider.ts";
import type { ServerLimits } from "./server-handle.ts";

/** A server of a mux, made when the mux is. */
export interface MuxServer {
  /** Unique in its mux; errors, logs and metrics carry it. */
  readonly name: string;
  /** Makes or connects the provider. It may call the engine back through `host`. */
  readonly connect: (host: HostSlot) => ResourceProvider | Promise<ResourceProvider>;
  readonly limits?: ServerLimits;
}

/**
 * Whose rules a mux follows.
 *
 * - `seed`: the muxer's documentation. Earlier servers win, servers see only their own configuration keys,
 *   differing results of CheckConfig are an error, a server without Configure can nothing, Attach never
 *   reaches a server.
 * - `upstream`: today's Pulumi muxer without its defects. Later servers win, configuration is not filtered, the
 *   first result of CheckConfig stays, a server without Configure does not count, Attach goes to all.
 */
export type MuxProfile = "seed" | "upstream";

export interface MuxOptions {
  /** In order of priority. */
  readonly servers: readonly MuxServer[];
  /** Name of the package that is served, for errors and diagnostics. @default "mux" */
  readonly package?: string;
  /** @default "seed" */
  readonly profile?: MuxProfile;
  /** Where the engine connection stands. @default a place without an engine, where Attach dials one */
  readonly host?: HostSlot;
  /** Precomputed with {@link mergeSchemas}, instead of asking every server for its schema. */
  readonly dispatchTable?: DispatchTable;
  /** Precomputed; needs `dispatchTable`. */
  readonly schema?: string;
  /** Answers of several servers to GetMapping are put together by the handler of the key. */
  readonly mappingHandlers?: ReadonlyMap<string, MappingHandler>;
  /** What happens when servers define the same names. @default by profile */
  readonly merge?: MergePolicy;
  /** Whether servers see only their own configuration keys. @default by profile */
  readonly configFilter?: boolean;
  /**
   * Announces what any server can do, and masks requests and replies of those that can less, instead of
   * announcing only what all can do.
   * @default false
   */
  readonly perServerCapabilities?: boolean;
  /**
   * Starts although servers cannot be connected or give no schema, as long as one does. Those that are absent
   * are tried again until they come in, at their place and configured like the others. Meanwhile a token that no
   * present server has is `MUX_SERVER_UNAVAILABLE`, and one that a present server has belongs to that one. Needs
   * a mux that asks for schemas: neither `dispatchTable` nor `schema` may be given.
   * @default false
   */
  readonly degradedStart?: boolean;
  /** @default the clock of the process */
  readonly clock?: Clock;
}

export interface ResolvedMuxOptions {
  readonly servers: readonly MuxServer[];
  readonly package: string;
  readonly profile: MuxProfile;
  readonly host: HostSlot | undefined;
  readonly dispatchTable: DispatchTable | undefined;
  readonly schema: string | undefined;
  readonly mappingHandlers: ReadonlyMap<string, MappingHandler>;
  readonly merge: MergePolicy;
  readonly configFilter: boolean;
  readonly perServerCapabilities: boolean;
  readonly degradedStart: boolean;
  readonly clock: Clock;
}

/** Fills in what is left out. `MUX_NO_SERVERS`, `MUX_OPTIONS_INVALID`, `MUX_SCHEMA_WITHOUT_TABLE`. */
export function resolveMuxOptions(options: MuxOptions): ResolvedMuxOptions {
  const { servers, profile = "seed", schema, dispatchTable } = options;
  if (servers.length === 0) throw new MuxError("MUX_NO_SERVERS", "a mux needs at least one server");
  const names = new Set<string>();
  for (const { name } of servers) {
    if (names.has(name)) {
      throw new MuxError("MUX_OPTIONS_INVALID", `two servers have the name "${name}"`);
    }
    names.add(name);
  }
  const hasSchema = schema !== undefined && schema !== "";
  if (profile === "seed" && hasSchema && dispatchTable === undefined) {
    throw new MuxError(
      "MUX_SCHEMA_WITHOUT_TABLE",
      "a precomputed schema needs the dispatch table that belongs to it",
    );
  }
  if (options.degradedStart === true && (hasSchema || dispatchTable !== undefined)) {
    throw new MuxError(
      "MUX_OPTIONS_INVALID",
      "degradedStart needs the schemas of the servers: omit dispatchTable and schema",
    );
  }
  const wins = profile === "seed" ? "first-wins" : "last-wins";
  return {
    servers,
    profile,
    package: options.package ?? "mux",
    host: options.host,
    // Upstream ignores one that is given without the other.
    dispatchTable: profile === "seed" || hasSchema ? dispatchTable : undefined,
    schema: hasSchema && dispatchTable !== undefined ? schema : undefined,
    mappingHandlers: options.mappingHandlers ?? new Map(),
    merge: { tokens: wins, types: wins, ...options.merge },
    configFilter: options.configFilter ?? profile === "seed",
    perServerCapabilities: options.perServerCapabilities ?? false,
    degradedStart: options.degradedStart ?? false,
    clock: options.clock ?? systemClock,
  };
}
