/**
 * A type of a Pulumi or 2017 provider as its provider calls it: package, module and name between colons.
 *
 * The module may be empty and may have parts; often the second part repeats the name. Source: Pulumi's package schema, and
 * the type tokens of the provider protocol of 2017.
 */
export interface TypeToken {
  /** As it was written: `random:index/randomId:RandomId`. */
  readonly text: string;
  /** Name of the package, which is that of its provider. */
  readonly package: string;
  /** What the type is called in templates, see {@link typeNameOfToken}. */
  readonly typeName: string;
}

const TOKEN = /^([A-Za-z][\w-]*):[\w./-]*:[A-Za-z_][\w/-]*$/;

/** Reads a token; undefined for any other text. Whether a provider has such a type is not asked. */
export function parseTypeToken(text: string): TypeToken | undefined {
  const [, pkg] = TOKEN.exec(text) ?? [];
  return pkg === undefined ? undefined : { text, package: pkg, typeName: typeNameOfToken(text) };
}

/**
 * The name of a token in the template language: package, module and name in snake case, joined by `_`. The module
 * `index` is left out, and a last part of the module that only repeats the name.
 *
 * `random:index/randomId:RandomId` is `random_random_id`, `aws:s3/bucket:Bucket` is `aws_s3_bucket`,
 * `kubernetes:apps/v1:Deployment` is `kubernetes_apps_v1_deployment`. It depends on nothing but the token, so that no type is
 * called differently because its package got another one.
 */
export function typeNameOfToken(token: string): string {
  const { pkg, module, name } = partsOf(token);
  const repeats = module.length > 1 && module.at(-1)?.toLowerCase() === name.toLowerCase();
  const said = repeats ? module.slice(0, -1) : module;
  return join(pkg, said.length === 1 && said[0] === "index" ? [] : said, name);
}

/** The same with everything that the module says: `random:index/randomId:RandomId` is `random_index_random_id_random_id`. */
export function longTypeNameOfToken(token: string): string {
  const { pkg, module, name } = partsOf(token);
  return join(pkg, module, name);
}

function partsOf(token: string) {
  const [pkg = "", qualified = "", name = ""] = token.split(":");
  return { pkg, module: qualified.split("/").filter((part) => part !== ""), name };
}

function join(pkg: string, module: readonly string[], name: string): string {
  return [pkg, ...module, name].map(snakeCase).join("_");
}

function snakeCase(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toLowerCase();
}
