import { createHash } from "node:crypto";
import { groupBy } from "@stackwright/base/group-by";
import { longTypeNameOfToken, typeNameOfToken } from "@stackwright/provider-source";

/** What the tokens of a package are called. */
export interface TokenNames {
  /** Tokens by their name, and by themselves. */
  readonly tokens: ReadonlyMap<string, string>;
  /** Names by their token: exactly one for each. */
  readonly names: ReadonlyMap<string, string>;
  /** Several tokens that have one name by the rule and so do not have it. */
  readonly collisions: readonly NameCollision[];
}

interface NameCollision {
  readonly name: string;
  readonly tokens: readonly string[];
  /** What each of them is called instead, in the same order. */
  readonly names: readonly string[];
}

/**
 * Names all tokens of a package. Several tokens with one name by the rule of {@link typeNameOfToken} do not have it, but their
 * long names as far as these are unique, and else the name by the rule with a digest of the token.
 * So a name means the same token in any order of the tokens.
 */
export function nameTokens(tokens: Iterable<string>): TokenNames {
  const byName = groupBy(new Set(tokens), typeNameOfToken);
  const shared = [...byName].filter(([, claimants]) => claimants.length > 1);
  const long = countNames(shared.flatMap(([, claimants]) => claimants.map(longTypeNameOfToken)));
  const names = new Map<string, string>();
  for (const [name, claimants] of byName) {
    for (const token of claimants) {
      const other = longTypeNameOfToken(token);
      const free = long.get(other) === 1 && !byName.has(other);
      const own = claimants.length === 1 ? name : free ? other : `${name}_${digest(token)}`;
      names.set(token, own);
    }
  }
  return {
    names,
    tokens: new Map(
      [...names].flatMap(([token, name]) => [[token, token] as const, [name, token]]),
    ),
    collisions: shared.map(([name, claimants]) => ({
      name,
      tokens: claimants,
      names: claimants.map((token) => names.get(token) ?? token),
    })),
  };
}

/** What a token is or was called, depending on what else there is. */
export function possibleNames(token: string): readonly string[] {
  const name = typeNameOfToken(token);
  return [name, longTypeNameOfToken(token), `${name}_${digest(token)}`];
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("hex").slice(0, 8);
}

function countNames(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
