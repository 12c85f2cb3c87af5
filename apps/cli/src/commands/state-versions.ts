import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isClientError, type StateVersion } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStack, type ServerStackOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** How long a state may take to arrive, in milliseconds: it may have some hundred megabytes. */
const DOWNLOAD_MS = 600_000;

/** Lists the versions of the state that terraform and tofu commands have stored. */
export async function stateVersionsList(
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  return withServerErrors(client.server, async () => {
    const { data } = await client.listStateVersions(place, { signal: context.signal });
    const { state_versions: versions } = data;
    if (options.json) context.terminal.write(`${JSON.stringify(versions, undefined, 2)}\n`);
    else if (versions.length === 0) {
      const name = `${place.project}/${place.stack}`;
      context.terminal.writeError(`No terraform command has stored a state of ${name}.\n`);
    } else context.terminal.write(versions.map((one) => `${textOf(one)}\n`).join(""));
    return EXIT.ok;
  });
}

/** Writes a version as it was stored. */
export async function stateVersionsDownload(
  text: string | undefined,
  options: ServerStackOptions & { readonly output?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const version = text === undefined ? await currentVersion(found) : versionOf(text);
    const { data } = await ofVersion(found, version, async () =>
      client.downloadStateVersion(
        { ...place, version },
        { signal: context.signal, timeoutMs: DOWNLOAD_MS },
      ),
    );
    if (options.output === undefined) {
      context.terminal.write(Buffer.from(data).toString("utf8"));
      return EXIT.ok;
    }
    await writeNew(resolve(context.directory, options.output), data);
    const { output: file } = options;
    writeResult(context, options, { version: Number(version), file }, `Wrote ${file}.`);
    return EXIT.ok;
  });
}

/** Makes an older version the present one. */
export async function stateVersionsRestore(
  text: string,
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const found = await openServerStack(options, context);
  const { client, place } = found;
  return withServerErrors(client.server, async () => {
    const version = versionOf(text);
    const { data } = await ofVersion(found, version, async () =>
      client.restoreStateVersion({ ...place, version }, { signal: context.signal }),
    );
    const name = `${place.project}/${place.stack}`;
    const { version: number, serial } = data;
    const done = `${name} has the state of version ${version} again: as version ${number}, with the serial ${serial}.`;
    writeResult(context, options, data, done);
    return EXIT.ok;
  });
}

function versionOf(text: string): string {
  if (/^[1-9][0-9]{0,13}$/.test(text)) return text;
  throw new CommandError(`"${text}" is not the number of a state version.`, {
    advice: "Use a number that stackwright state-versions list shows.",
  });
}

async function currentVersion({ client, place, context }: ServerStack): Promise<string> {
  const { data } = await client.listStateVersions(place, { signal: context.signal });
  const current = data.state_versions.find((one) => one.current);
  if (current !== undefined) return String(current.version);
  throw new CommandError(`${place.project}/${place.stack} has no state of a terraform command.`, {
    advice: "stackwright state-versions list shows what is kept.",
  });
}

async function ofVersion<T>(
  { place }: ServerStack,
  version: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
    throw new CommandError(`${place.project}/${place.stack} has no state version ${version}.`, {
      advice: "Use a number that stackwright state-versions list shows.",
    });
  }
}

async function writeNew(path: string, content: Uint8Array): Promise<void> {
  try {
    await writeFile(path, content, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new CommandError(`The file ${path} exists already.`, {
      advice: "Remove it, or name another one.",
    });
  }
}

function textOf(one: StateVersion): string {
  const { terraform_version: terraform, restored_from: restored, operation = "", who } = one;
  const parts = [
    `serial ${one.serial}`,
    `${one.bytes} bytes`,
    `stored at ${one.created_at.slice(0, 19).replace("T", " ")}`,
    `by ${who ?? one.actor}`,
    ...(operation === "" ? [] : [operation.replace(/^OperationType/, "").toLowerCase()]),
    ...(terraform === "" ? [] : [`version ${terraform}`]),
    ...(restored === undefined ? [] : [`restored from version ${restored}`]),
    ...(one.lineage_changed === true ? [`new lineage ${one.lineage}`] : []),
    ...(one.current ? ["present"] : []),
  ];
  return printable(`${one.version}: ${parts.join(", ")}`);
}
