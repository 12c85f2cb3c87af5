import type { Hook } from "./hook-owner.ts";

/** A command as a text of a form: an argument on each line; a list in JSON where that would not give the same command again. */
export function textOfCommand(command: readonly string[]): string {
  const lines = command.join("\n");
  return isSame(commandOfText(lines), command) ? lines : JSON.stringify(command, undefined, 2);
}

/** The command that a text of a form is. */
export function commandOfText(text: string): readonly string[] {
  const parsed = parsedOf(text);
  if (Array.isArray(parsed) && parsed.every((one) => typeof one === "string")) return parsed;
  return text.replaceAll(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n");
}

/** Variables as a text of a form: NAME=value on each line; an object in JSON where that would not give the same ones again. */
export function textOfVariables(variables: Hook["environment"] = {}): string {
  const lines = Object.entries(variables)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join("\n");
  return isSame(variablesOfText(lines), variables)
    ? lines
    : JSON.stringify(variables, undefined, 2);
}

/** The variables that a text of a form is. */
export function variablesOfText(text: string): Readonly<Record<string, string>> {
  const parsed = parsedOf(text);
  if (isTexts(parsed)) return parsed;
  return Object.fromEntries(
    text
      .split(/\r\n?|\n/)
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const at = line.includes("=") ? line.indexOf("=") : line.length;
        return [line.slice(0, at).trim(), line.slice(at + 1)];
      }),
  );
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((one) => typeof one === "string");
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
