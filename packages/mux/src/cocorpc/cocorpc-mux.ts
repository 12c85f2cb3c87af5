import { MuxError } from "../errors.ts";
import type { CocorpcProvider } from "./cocorpc-provider.ts";

/** A 2017 provider with a name for errors. */
export interface NamedCocorpcProvider {
  readonly name: string;
  readonly provider: CocorpcProvider;
}

/**
 * Several 2017 providers as one. That protocol has no schemas, so the table that says which type is whose comes from
 * outside; a table that names a server that is not there is `MUX_TABLE_INVALID`. Every request goes whole to the
 * owner of its type; an unknown type is `MUX_TOKEN_UNKNOWN`.
 */
export function createCocorpcMux(
  servers: readonly NamedCocorpcProvider[],
  types: ReadonlyMap<string, number>,
): CocorpcProvider {
  if (servers.length === 0) throw new MuxError("MUX_NO_SERVERS", "a mux needs at least one server");
  for (const [type, index] of types) {
    if (servers[index] !== undefined) continue;
    const text = `the dispatch table gives ${type} to server ${index}, which is not there`;
    throw new MuxError("MUX_TABLE_INVALID", text, { token: type });
  }
  const ownerOf = (type: string): CocorpcProvider => {
    const index = types.get(type);
    const server = index === undefined ? undefined : servers[index];
    if (server !== undefined) return server.provider;
    throw new MuxError("MUX_TOKEN_UNKNOWN", `Resource type '${type}' not found.`, { token: type });
  };
  return {
    check: async (request, context) => ownerOf(request.type).check(request, context),
    name: async (request, context) => ownerOf(request.type).name(request, context),
    create: async (request, context) => ownerOf(request.type).create(request, context),
    get: async (request, context) => ownerOf(request.type).get(request, context),
    previewUpdate: async (request, context) =>
      ownerOf(request.type).previewUpdate(request, context),
    update: async (request, context) => ownerOf(request.type).update(request, context),
    delete: async (request, context) => ownerOf(request.type).delete(request, context),
  };
}
