import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { ProviderAddress } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { projectFiles, type TemplateNames } from "../provider-kit/template/index.ts";
import { printable } from "../terminal/printable.ts";

/** Types begin with the name, and code has it as an identifier. */
const NAME = /^[a-z][a-z0-9]{0,30}$/;
const DEFAULT_PLACE = "example.com/example";

/** Writes a new project of a provider into a folder that is empty or does not exist. Nothing is installed. */
export async function providerNew(
  { source, folder }: { readonly source: string; readonly folder: string | undefined },
  context: CommandContext,
): Promise<ExitCode> {
  const names = namesOf(source);
  const { directory, terminal } = context;
  const target = resolve(directory, folder ?? `terraform-provider-${names.name}`);
  await requireEmpty(target);
  const written: string[] = [];
  try {
    for (const { path, text, isExecutable = false } of projectFiles(names)) {
      const file = join(target, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: "wx" });
      written.push(file);
      if (isExecutable) await chmod(file, 0o755);
    }
  } catch (error) {
    // A project that is not whole is not left; folders of somebody else are.
    for (const file of written) await rm(file, { force: true });
    throw new CommandError(`The project cannot be written to "${printable(target)}".`, {
      cause: error,
      advice: error instanceof Error ? printable(error.message) : "",
    });
  }
  const shown = printable(relative(directory, target) || ".");
  terminal.write(`Made the provider ${names.source} in ${shown}:\n`);
  for (const { path } of projectFiles(names)) terminal.write(`  ${path}\n`);
  terminal.write(
    `\nNext:\n  cd ${shown}\n  npm install\n  npm test\n  stackwright provider test\n  stackwright provider dev\n`,
  );
  return EXIT.ok;
}

function namesOf(text: string): TemplateNames {
  const source = text.includes("/") ? text : `${DEFAULT_PLACE}/${text}`;
  const name = source.split("/").at(-1) ?? "";
  const advice = "Write a name such as notes, or a source such as example.com/acme/notes.";
  if (!NAME.test(name)) {
    throw new CommandError(
      `"${printable(name)}" cannot be the name of a provider: it must match ${String(NAME)}.`,
      { advice },
    );
  }
  let address: ProviderAddress;
  try {
    address = ProviderAddress.parse(source);
  } catch (error) {
    throw new CommandError(`"${printable(source)}" is not the source of a provider.`, {
      cause: error,
      advice,
    });
  }
  if (address.kind !== "registry") {
    throw new CommandError(`The source ${address.toString()} has a meaning of its own.`, {
      advice: `${advice} A provider behind a function gets its source from provider publish --function.`,
    });
  }
  return {
    source: address.toString(),
    name,
    title: name.charAt(0).toUpperCase() + name.slice(1),
    libraries: `^${commandVersion()}`,
  };
}

async function requireEmpty(target: string): Promise<void> {
  let names: readonly string[];
  try {
    names = await readdir(target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    throw new CommandError(`"${printable(target)}" cannot be the folder of a project.`, {
      cause: error,
      advice: error instanceof Error ? printable(error.message) : "",
    });
  }
  if (names.length === 0) return;
  throw new CommandError(`The folder "${printable(target)}" is not empty.`, {
    advice: "Name another folder behind the name. Nothing was written.",
  });
}
