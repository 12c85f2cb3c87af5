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

function snakeCase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
}

/** Tokens by their name, and by themselves. Several tokens of one name have only themselves. */
export interface TokenNames {
  readonly tokens: ReadonlyMap<string, string>;
  readonly collisions: readonly { readonly name: string; readonly tokens: readonly string[] }[];
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
  const collisions: { name: string; tokens: string[] }[] = [];
  for (const [name, claimants] of byName) {
    const [only, second] = claimants;
    if (only !== undefined && second === undefined) result.set(name, only);
    else collisions.push({ name, tokens: claimants });
  }
  return { tokens: result, collisions };
}
