import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";

/** The commands of the reference command with the options that their help lists. */
export interface ReferenceHelp {
  readonly version: string;
  /** By words, such as `state list`. */
  readonly commands: Readonly<Record<string, ReferenceCommand>>;
}

interface ReferenceCommand {
  /** Names of options, with what the help writes behind each: `=false`, `=path`, or nothing. */
  readonly options: Readonly<Record<string, string>>;
}

const call = promisify(execFile);

/** Reads the help of every command of an installed reference command. Only names are kept, no sentences. */
export async function readReferenceHelp(program: string): Promise<ReferenceHelp> {
  const run = async (...words: readonly string[]): Promise<string> => {
    const options = { cwd: tmpdir(), env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir() } };
    try {
      return (await call(program, [...words], options)).stdout;
    } catch (error) {
      // Help of a command that has only commands below it.
      return (error as { readonly stdout: string }).stdout;
    }
  };
  const { terraform_version: version } = JSON.parse(await run("version", "-json")) as {
    readonly terraform_version: string;
  };
  const texts = new Map<string, string>();
  const visit = async (words: readonly string[]): Promise<void> => {
    const text = await run(...words, "-help");
    if (words.length > 0) texts.set(words.join(" "), text);
    for (const name of commandsIn(text)) await visit([...words, name]);
  };
  await visit([]);
  const plan = texts.get("plan") ?? "";
  const commands = [...texts].map(([name, text]): [string, ReferenceCommand] => {
    const whole = /-help`?\s*$/.test(text.trimEnd()) && text.includes("plan -help");
    const shared = whole ? customization(plan) : "";
    const applied = text.includes("apply -destroy") ? (texts.get("apply") ?? "") : "";
    // A command that is short for an option of another one does not have that option.
    const own = [...optionsIn(shared), ...optionsIn(applied), ...optionsIn(text)];
    const options = own.filter(([option]) => applied === "" || option !== name);
    return [name, { options: Object.fromEntries(options.toSorted(byName)) }];
  });
  return { version, commands: Object.fromEntries(commands.toSorted(byName)) };
}

/** The options of a plan that the commands which plan have as well. */
function customization(plan: string): string {
  return plan.slice(0, plan.indexOf("Other Options:"));
}

function commandsIn(help: string): string[] {
  const lists = help.split(/^(?=Main commands:|All other commands:|Subcommands:|Global options)/m);
  return lists
    .filter((part) => /^(?:Main|All other|Sub)/.test(part))
    .flatMap((part) => [...part.matchAll(/^ {2,4}([a-z][a-z-]*) {2,}\S/gm)])
    .map(([, name = ""]) => name);
}

function optionsIn(help: string): [string, string][] {
  const listed = [...help.matchAll(/^ {2,4}-([a-z][a-z-]*)(=\S+| '\S+')?/gm)];
  const aliases = [...help.matchAll(/aliases: -([a-z-]+)(=\S+)?/g)];
  const found = [...listed, ...aliases].map(([, name = "", form = ""]): [string, string] => [
    name,
    form,
  ]);
  // Named in a sentence, without a line of their own.
  if (/-state, state-out, and -backup are/.test(help)) {
    for (const name of ["state", "state-out", "backup"]) found.push([name, "=path"]);
  }
  if (/^Usage: .* -json$/m.test(help)) found.push(["json", ""]);
  return found;
}

function byName([left]: [string, unknown], [right]: [string, unknown]): number {
  return left < right ? -1 : Number(left > right);
}

// Records the help of an installed command: node reference-help.ts [program [file]].
if (import.meta.main) {
  const [program = "terraform", file = "reference-help.json"] = process.argv.slice(2);
  const help = await readReferenceHelp(program);
  const path = new URL(file, import.meta.url);
  await writeFile(path, `${JSON.stringify(help, undefined, 2)}\n`);
}
