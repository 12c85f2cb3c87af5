/**
 * The name of a Pulumi token in the template language: package, module and name in snake case, joined by `_`.
 * What the module repeats of the name (`index/randomId`) and the module `index` are left out.
 *
 * `random:index/randomId:RandomId` is `random_random_id`, `aws:s3/bucket:Bucket` is `aws_s3_bucket`.
 */
export function nameOfToken(token: string): string {
  const [pkg = "", qualified = "", name = ""] = token.split(":");
  const [module = ""] = qualified.split("/");
  const parts = [pkg, ...(module === "" || module === "index" ? [] : [module]), name];
  return parts.map(snakeCase).join("_");
}

/** The same with everything that the module says: `kubernetes:apps/v1:Deployment` is `kubernetes_apps_v1_deployment`. */
export function longNameOfToken(token: string): string {
  const [pkg = "", qualified = "", name = ""] = token.split(":");
  const module = qualified.split("/").filter((part) => part !== "");
  return [pkg, ...module, name].map(snakeCase).join("_");
}

function snakeCase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
}

/** A name that several tokens would have. */
export interface NameCollision {
  readonly name: string;
  readonly tokens: readonly string[];
  /** What each of them is called instead, in the same order: its long name, or nothing but itself. */
  readonly names: readonly string[];
}

/**
 * Tokens by their name, and by themselves. Several tokens of one name do not have it, but their long names, as far as these
 * are nobody else's. So a name means the same token for as long as the package has no other of that name.
 */
export interface TokenNames {
  readonly tokens: ReadonlyMap<string, string>;
  readonly collisions: readonly NameCollision[];
}

export function nameTokens(tokens: Iterable<string>): TokenNames {
  const byName = new Map<string, string[]>();
  const result = new Map<string, string>();
  for (const token of tokens) {
    result.set(token, token);
    const name = nameOfToken(token);
    const present = byName.get(name);
    if (present === undefined) byName.set(name, [token]);
    else present.push(token);
  }
  const shared: [name: string, tokens: readonly string[]][] = [];
  for (const [name, claimants] of byName) {
    const [only, second] = claimants;
    if (only !== undefined && second === undefined) result.set(name, only);
    else shared.push([name, claimants]);
  }
  const long = countNames(shared.flatMap(([, claimants]) => claimants.map(longNameOfToken)));
  const collisions = shared.map(([name, claimants]) => {
    const names = claimants.map((token) => {
      const other = longNameOfToken(token);
      const free = long.get(other) === 1 && !byName.has(other);
      if (free) result.set(other, token);
      return free ? other : token;
    });
    return { name, tokens: claimants, names };
  });
  return { tokens: result, collisions };
}

function countNames(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
