import type { Command, Option } from "commander";
import { CommandError } from "../command-error.ts";

/**
 * Options in the form that the parser of the command line reads. Long options may have one dash or two: `-var a=1`,
 * `-auto-approve`. An option without a value may have one as in Go programs: `-refresh=false`, `-json=1`; the last
 * one wins. Everything behind `--` and every value of an option stays as it is.
 *
 * @param commands the command with those it belongs to
 */
export function normalizeOptions(
  words: readonly string[],
  commands: readonly Command[],
): readonly string[] {
  const known = new Map(commands.flatMap(({ options }) => options.map((one) => [one.long, one])));
  const before: string[] = [];
  /** By the form in which they are written. */
  const flags = new Map<string, boolean>();
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") break;
    const [, name, given] = /^--?([a-z][a-z0-9-]+)(?:=([^]*))?$/.exec(word) ?? [];
    if (name === undefined) {
      before.push(word);
      continue;
    }
    const option = known.get(`--${name}`);
    if (name === "help") before.push("--help");
    else if (option !== undefined && takesValue(option)) {
      before.push(`-${word.replace(/^--?/, "-")}`);
      const next = words[at + 1];
      if (given === undefined && option.required && next !== undefined) {
        before.push(next);
        at++;
      }
    } else if (option !== undefined) flags.set(`--${name}`, booleanOf(name, given));
    else if (known.has(`--no-${name}`)) flags.set(`--no-${name}`, !booleanOf(name, given));
    else before.push(word);
  }
  const set = [...flags].flatMap(([flag, value]) => (value ? [flag] : []));
  return [...before, ...set, ...words.slice(at)];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** The value of an option without one is true. */
function booleanOf(name: string, text: string | undefined): boolean {
  if (text === undefined || TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw new CommandError(
    `Invalid value of the option "-${name}": "${text}" is not true or false.`,
    {
      advice: `Use -${name}=true or -${name}=false.`,
    },
  );
}
