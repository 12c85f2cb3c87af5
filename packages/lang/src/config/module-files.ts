/** The files of a folder that make up a module, in the order in which they are read. */
export interface ModuleFiles {
  readonly primary: readonly string[];
  /** Files whose blocks change those of the others; read last. */
  readonly override: readonly string[];
}

const EXTENSIONS = [".tf", ".tf.json"] as const;

/**
 * Chooses the files of a module from the names in its folder: `*.tf` and `*.tf.json`, without hidden
 * files and backups of editors. `override.tf`, `*_override.tf` and the same in JSON override.
 */
export function selectModuleFiles(names: Iterable<string>): ModuleFiles {
  const primary: string[] = [];
  const override: string[] = [];
  for (const name of [...names].toSorted()) {
    if (isIgnored(name)) continue;
    const extension = EXTENSIONS.find((candidate) => name.endsWith(candidate));
    if (extension === undefined) continue;
    const stem = name.slice(0, -extension.length);
    const overrides = stem === "override" || stem.endsWith("_override");
    (overrides ? override : primary).push(name);
  }
  return { primary, override };
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
