import type { Routing } from "./routing.ts";

/** Which server a token would reach, and why. */
export interface TokenExplanation {
  readonly token: string;
  /** One line per use of the token; empty for a token without a server. */
  readonly uses: readonly {
    readonly kind: "resource" | "function" | "list";
    readonly server: string;
    readonly reason: string;
  }[];
}

/** A dry run of the routing of one token. */
export function explainToken(
  { table, isTableGiven, servers, conflicts, subpackages }: Routing,
  token: string,
): TokenExplanation {
  const parts = [
    ["resource", table.resources],
    ["function", table.functions],
    ["list", table.listResources ?? table.resources],
  ] as const;
  const uses = parts.flatMap(([kind, owners]) => {
    const index = owners.get(token);
    if (index === undefined) return [];
    const server = servers[index]?.name ?? "";
    const conflict = conflicts.find((entry) => entry.kind === kind && entry.token === token);
    const subpackage = subpackages.find((entry) => servers[index] === entry.server);
    if (conflict !== undefined) {
      const others = conflict.others.join(", ");
      return [{ kind, server, reason: `the policy prefers it to ${others}, which define it too` }];
    }
    if (subpackage !== undefined && token.startsWith(`${subpackage.name}:`)) {
      return [{ kind, server, reason: `it was parameterized as ${subpackage.name}` }];
    }
    const reason = isTableGiven ? "the given table says so" : "no other one defines it";
    return [{ kind, server, reason }];
  });
  return { token, uses };
}
