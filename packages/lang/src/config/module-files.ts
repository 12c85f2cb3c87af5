/** The files of a folder that make up a module, in the order in which they are read. */
export interface ModuleFiles {
  readonly primary: readonly string[];
  /** Files whose blocks change those of the others; read last. */
  readonly override: readonly string[];
}

/** Endings of configuration files; each of OpenTofu hides a file of Terraform. */
const EXTENSIONS = [".tf", ".tf.json", ".tofu", ".tofu.json"] as const;

/** Endings of files of newer versions that are not read, with what they are for. */
const UNREAD = [
  [/\.tfquery\.(?:hcl|json)$/, "a query of Terraform 1.14"],
  [/\.tf(?:stack|component|deploy)\.(?:hcl|json)$/, "a part of a Terraform stack"],
] as const;

/**
 * Chooses the files of a module from the names in its folder: `*.tf`, `*.tofu` and the same in JSON, without hidden
 * files and backups of editors. `x.tofu` replaces `x.tf`. `override.tf`, `*_override.tf` and the like override.
 */
export function selectModuleFiles(names: Iterable<string>): ModuleFiles {
  const primary: string[] = [];
  const override: string[] = [];
  const sorted = [...names].toSorted();
  const all = new Set(sorted);
  for (const name of sorted) {
    if (isIgnored(name)) continue;
    const extension = EXTENSIONS.find((candidate) => name.endsWith(candidate));
    if (extension === undefined) continue;
    const replacement = extension.startsWith(".tofu") ? undefined : tofuName(name);
    if (replacement !== undefined && all.has(replacement)) continue;
    const stem = name.slice(0, -extension.length);
    const overrides = stem === "override" || stem.endsWith("_override");
    (overrides ? override : primary).push(name);
  }
  return { primary, override };
}

/** The name of the file of OpenTofu that replaces a file of Terraform. */
function tofuName(name: string): string {
  return name.replace(/\.tf(?=(?:\.json)?$)/, ".tofu");
}

/** Files of a folder that belong to it in newer versions and are not read here, with what each is. */
export function unreadFiles(
  names: Iterable<string>,
): readonly { readonly name: string; readonly meaning: string }[] {
  return [...names].toSorted().flatMap((name) => {
    if (isIgnored(name)) return [];
    const found = UNREAD.find(([pattern]) => pattern.test(name));
    return found === undefined ? [] : [{ name, meaning: found[1] }];
  });
}

/**
 * The files of variable values that are read without being named, later ones over earlier ones:
 * `terraform.tfvars`, `terraform.tfvars.json`, then `*.auto.tfvars` and `*.auto.tfvars.json` by name.
 */
export function selectVariableFiles(names: Iterable<string>): string[] {
  const all = [...names].filter((name) => !isIgnored(name));
  const fixed = ["terraform.tfvars", "terraform.tfvars.json"].filter((name) => all.includes(name));
  const auto = all.filter((name) => /\.auto\.tfvars(?:\.json)?$/.test(name)).toSorted();
  return [...fixed, ...auto];
}

function isIgnored(name: string): boolean {
  return name.startsWith(".") || name.endsWith("~") || (name.startsWith("#") && name.endsWith("#"));
}
