import type { CheckRequest, ConfigureRequest, DiffRequest } from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { joinMembers, structMembers } from "./struct-members.ts";

/**
 * Shows each server only the configuration keys that it accepts. A key that no server knows goes to all;
 * several servers may accept one key; a server without a set of keys sees everything.
 *
 * Source: the muxer's documentation (seed 000), configuration endpoints.
 */
export interface ConfigFilter {
  check(server: number, request: CheckRequest): CheckRequest;
  diff(server: number, request: DiffRequest): DiffRequest;
  configure(server: number, request: ConfigureRequest): ConfigureRequest;
  /** Whether any server says that it knows the key. */
  isKnown(key: string): boolean;
}

export type ConfigKeys = readonly (ReadonlySet<string> | undefined)[];

export function createConfigFilter(configKeys: ConfigKeys): ConfigFilter {
  const known = new Set(configKeys.flatMap((keys) => [...(keys ?? [])]));
  const accepts = (server: number, key: string) => {
    const keys = configKeys[server];
    return keys === undefined || keys.has(key) || !known.has(key);
  };
  const filtered = (server: number, struct: EncodedStruct | undefined) => {
    if (struct === undefined || configKeys[server] === undefined) return struct;
    return joinMembers(structMembers(struct).filter(({ key }) => accepts(server, key)));
  };
  return {
    isKnown: (key) => known.has(key),
    check: (server, request) => ({
      ...request,
      olds: filtered(server, request.olds),
      news: filtered(server, request.news),
    }),
    diff: (server, request) => ({
      ...request,
      olds: filtered(server, request.olds),
      news: filtered(server, request.news),
      oldInputs: filtered(server, request.oldInputs),
      ignoreChanges: request.ignoreChanges.filter((path) => accepts(server, topLevelName(path))),
    }),
    configure: (server, request) => ({
      ...request,
      args: filtered(server, request.args),
      variables: new Map(
        [...request.variables].filter(([name]) => accepts(server, variableName(name))),
      ),
    }),
  };
}

/** The first name of a property path such as `a.b[0]`. */
export function topLevelName(path: string): string {
  const quoted = /^\["((?:[^"\\]|\\.)*)"\]/.exec(path);
  return quoted?.[1]?.replace(/\\(.)/g, "$1") ?? /^[^.[]*/.exec(path)?.[0] ?? path;
}

/** The key of a legacy configuration variable `<package>:config:<key>`. */
function variableName(name: string): string {
  return name.slice(name.lastIndexOf(":") + 1);
}
