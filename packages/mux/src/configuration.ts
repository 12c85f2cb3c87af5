import {
  type CheckRequest,
  type CheckResponse,
  type ConfigureRequest,
  type ConfigureResponse,
  type DiffRequest,
  type DiffResponse,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { broadcastParallel, broadcastSequential, repliesOf, throwFailures } from "./broadcast.ts";
import type { CallContext } from "./call-context.ts";
import { combineChecks, type NamedCheck } from "./core/combine-check-config.ts";
import { type Capabilities, combineCapabilities } from "./core/combine-configure.ts";
import { combineDiffs } from "./core/combine-diff-config.ts";
import { type StructMember, structMembers } from "./core/struct-members.ts";
import type { MuxProfile } from "./mux-options.ts";
import type { Routing } from "./routing.ts";
import type { ServerHandle } from "./server-handle.ts";

/** The configuration methods of a mux: each is a broadcast, with what each server is to see. */

export async function checkConfig(
  routing: Routing,
  profile: MuxProfile,
  request: CheckRequest,
  context: CallContext,
): Promise<CheckResponse> {
  const { servers, filter } = routing;
  const seen = servers.map((_server, index) => filter?.check(index, request) ?? request);
  const results = await broadcastParallel(servers, (server, index) =>
    server.call("checkConfig", seen[index] ?? request, context),
  );
  throwFailures(results);
  const replies = repliesOf(results);
  const checks: NamedCheck[] = replies.map(({ server, index, reply }) => {
    const declared = routing.table.configKeys?.[index];
    const given = members(seen[index]?.news).filter(({ key }) => declared?.has(key) === true);
    return { server: server.name, reply, given: new Set(given.map(({ key }) => key)) };
  });
  // A server without CheckConfig takes its configuration as it comes, and none of it may be lost. Keys that no
  // server knows stay as well: each of those who saw them may have left them out as none of its own.
  const silent = servers.flatMap((server, index) =>
    filter === undefined || replies.some((reply) => reply.server === server)
      ? []
      : [seen[index]?.news],
  );
  const unknown = members(filter === undefined ? undefined : request.news).filter(
    ({ key }) => filter?.isKnown(key) === false,
  );
  return combineChecks(checks, {
    mismatch: profile === "seed" ? "error" : "first-wins",
    kept: [...silent.flatMap(members), ...unknown],
  });
}

export async function diffConfig(
  { servers, filter }: Routing,
  request: DiffRequest,
  context: CallContext,
): Promise<DiffResponse> {
  const results = await broadcastParallel(servers, (server, index) =>
    server.call("diffConfig", filter?.diff(index, request) ?? request, context),
  );
  throwFailures(results);
  return combineDiffs(repliesOf(results).map(({ reply }) => reply));
}

/** What configuring a mux amounts to: the reply, and what each server said of itself. */
interface Configured {
  readonly reply: ConfigureResponse;
  readonly capabilities: ReadonlyMap<ServerHandle, Capabilities>;
}

/**
 * Configures one server after the other, since some need an earlier one to be configured. All are configured even
 * after an error, so that everything that is missing is reported at once.
 */
export async function configure(
  { servers, filter }: Routing,
  profile: MuxProfile,
  request: ConfigureRequest,
  context: CallContext,
): Promise<Configured> {
  const results = await broadcastSequential(servers, (server, index) =>
    server.call("configure", filter?.configure(index, request) ?? request, context),
  );
  throwFailures(results);
  const capabilities = new Map(repliesOf(results).map(({ server, reply }) => [server, reply]));
  const all = servers.map((server) => capabilities.get(server));
  const reply = combineCapabilities(all, profile === "seed" ? "can-nothing" : "ignored");
  return { reply, capabilities };
}

function members(struct: EncodedStruct | undefined): StructMember[] {
  return struct === undefined ? [] : structMembers(struct);
}
