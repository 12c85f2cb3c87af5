import { RpcError } from "@stackwright/proto/grpc";
import type {
  GetMappingRequest,
  GetMappingResponse,
  GetMappingsRequest,
  GetMappingsResponse,
} from "@stackwright/proto/pulumirpc";
import { broadcastParallel, repliesOf, throwFailures } from "./broadcast.ts";
import type { CallContext } from "./call-context.ts";
import { MuxError } from "./errors.ts";
import type { HostClient } from "./host-client.ts";
import type { Routing } from "./routing.ts";

/**
 * Puts the answers of several servers to one conversion key together. `fetch` asks the servers and gives their
 * non-empty answers in server order; a handler that knows the answer need not call it.
 *
 * Source: the muxer's documentation (seed 000), GetMapping.
 */
export type MappingHandler = (
  fetch: () => Promise<readonly GetMappingResponse[]>,
) => GetMappingResponse | Promise<GetMappingResponse>;

const NO_MAPPING: GetMappingResponse = { provider: "", data: new Uint8Array() };

/**
 * The mapping for a key: by the handler of the key where there is one, else the single answer of the servers. Of
 * answers for several source providers the one that was asked for is taken, or the first with a warning in the
 * engine's log; several for one provider are `MUX_MAPPING_AMBIGUOUS`.
 */
export async function getMapping(
  { servers }: Routing,
  handler: MappingHandler | undefined,
  host: HostClient | undefined,
  request: GetMappingRequest,
  context: CallContext,
): Promise<GetMappingResponse> {
  const fetch = async () => {
    const results = await broadcastParallel(servers, (server) =>
      server.call("getMapping", request, context),
    );
    const answers = repliesOf(results).filter(({ reply }) => reply.data.length > 0);
    return { results, answers };
  };
  if (handler !== undefined) {
    return handler(async () => {
      const { results, answers } = await fetch();
      throwFailures(results);
      return answers.map(({ reply }) => reply);
    });
  }
  const { results, answers } = await fetch();
  const nameless = answers.find(({ reply }) => reply.provider === "");
  throwFailures(results);
  if (nameless !== undefined) {
    const text = `server ${nameless.server.name} gave a mapping for "${request.key}" without naming a provider`;
    throw new RpcError("UNKNOWN", text);
  }
  const wanted = answers.some(({ reply }) => reply.provider === request.provider)
    ? request.provider
    : answers[0]?.reply.provider;
  const matching = answers.filter(({ reply }) => reply.provider === wanted);
  for (const { reply, server } of answers) {
    if (reply.provider === wanted) continue;
    await host?.log({
      severity: "warning",
      message: `the mapping of server ${server.name} for provider "${reply.provider}" is left out: the one for "${wanted}" is given`,
    });
  }
  if (matching.length > 1) {
    const names = matching.map(({ server }) => server.name).join(", ");
    throw new MuxError(
      "MUX_MAPPING_AMBIGUOUS",
      `No multi-mapping handler for GetMapping key '${request.key}', which ${names} answer`,
      { token: request.key },
    );
  }
  return matching[0]?.reply ?? NO_MAPPING;
}

/** Every source provider that any server has a mapping for, sorted. */
export async function getMappings(
  { servers }: Routing,
  request: GetMappingsRequest,
  context: CallContext,
): Promise<GetMappingsResponse> {
  const results = await broadcastParallel(servers, (server) =>
    server.call("getMappings", request, context),
  );
  throwFailures(results);
  const providers = new Set(repliesOf(results).flatMap(({ reply }) => reply.providers));
  return { providers: [...providers].toSorted() };
}
