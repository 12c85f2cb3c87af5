import { spawnSync } from "node:child_process";

/** A command as it is started, and how it calls what is measured. */
export interface Subject {
  readonly name: string;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** The reference command, where it is installed in the version that is compared with. */
export function findReference(): Subject | undefined {
  const command = process.env.STACKWRIGHT_TERRAFORM ?? "terraform";
  const { status, stdout } = spawnSync(command, ["version", "-json"], { encoding: "utf8" });
  const version = /"terraform_version":\s*"([^"]+)"/.exec(stdout ?? "")?.[1] ?? "";
  if (status !== 0 || !version.startsWith("1.11.")) return undefined;
  const env = { PATH: process.env.PATH, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: "/dev/null" };
  return { name: `terraform ${version}`, words: [command], env };
}

/** Independent instances of the built-in resource. */
export function independent(count: number): string {
  return `resource "terraform_data" "a" {\n  count = ${count}\n  input = "item \${count.index}"\n}\n`;
}

/** Half as many pairs: each instance of the second resource refers to one of the first. */
export function chains(count: number): string {
  return [
    `locals {\n  names = toset([for i in range(${count / 2}) : tostring(i)])\n}\n`,
    'resource "terraform_data" "a" {\n  for_each = local.names\n  input    = each.key\n}\n',
    'resource "terraform_data" "b" {\n  for_each = local.names\n  input    = terraform_data.a[each.key].id\n}\n',
  ].join("\n");
}

/** What is measured, in this order, in one folder. `repeat`: it changes nothing. */
export const PHASES: readonly {
  readonly name: string;
  readonly words: readonly string[];
  readonly repeat: boolean;
}[] = [
  { name: "version", words: ["version"], repeat: true },
  { name: "validate", words: ["validate"], repeat: true },
  { name: "validate --json", words: ["validate", "-json"], repeat: true },
  { name: "fmt", words: ["fmt", "-check"], repeat: true },
  { name: "first plan", words: ["plan"], repeat: true },
  { name: "up", words: ["apply", "-auto-approve"], repeat: false },
  { name: "no-op plan", words: ["plan"], repeat: true },
  { name: "no-op plan --json", words: ["plan", "-json"], repeat: true },
  { name: "no-op up", words: ["apply", "-auto-approve"], repeat: true },
  { name: "show --json", words: ["show", "-json"], repeat: true },
  { name: "destroy", words: ["destroy", "-auto-approve"], repeat: false },
];
