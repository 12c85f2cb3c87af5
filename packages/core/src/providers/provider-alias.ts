import { formatKey, parseAddress, type ResolvedProvider } from "@stackwright/lang";

/** The parts of what distinguishes the configurations of one provider. */
interface AliasParts {
  /** Names of the calls from the root module. */
  readonly module: readonly string[];
  readonly alias: string | undefined;
  /** Of an instance of a configuration with `for_each`. */
  readonly key?: string | undefined;
}

/**
 * Which of the configurations of one source it is: `west`, `module.net`, `module.net.west`, `by_region["eu"]`; empty for the
 * usual one.
 */
export function formatAlias({ module, alias, key }: AliasParts): string {
  const parts = module.map((name) => `module.${name}`);
  return [...parts, ...(alias === undefined ? [] : [alias])].join(".") + formatKey(key);
}

/** The parts of such a text. */
export function parseAlias(text: string): AliasParts {
  const open = text.indexOf("[");
  const names = (open === -1 ? text : text.slice(0, open)).split(".");
  const module: string[] = [];
  for (let name = names[1]; names[0] === "module" && name !== undefined; name = names[1]) {
    module.push(name);
    names.splice(0, 2);
  }
  const [alias = ""] = names;
  return {
    module,
    alias: alias === "" ? undefined : alias,
    ...(open !== -1 && { key: keyOf(text.slice(open)) }),
  };
}

/** `["eu"]`, as `formatKey` writes it. */
function keyOf(brackets: string): string {
  const { value } = parseAddress(`null_resource.x${brackets}`);
  return value?.kind === "resource" && typeof value.key === "string" ? value.key : "";
}

export function aliasOf({
  module,
  alias,
  instance,
}: Pick<ResolvedProvider, "module" | "alias" | "instance">): string {
  return formatAlias({ module: module.path, alias, key: instance?.key });
}
