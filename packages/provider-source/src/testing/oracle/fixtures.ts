import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AddressAnswer } from "./ask-addresses.ts";
import type { ConstraintAnswer } from "./ask-constraints.ts";
import type { LockAnswer } from "./ask-lock-file.ts";

const ROOT = join(import.meta.dirname, "../../../fixtures/command");

/** Answers of the command that were recorded. */
interface RecordedAnswers {
  /** The release that gave them. */
  readonly version: string;
  readonly addresses: readonly AddressAnswer[];
  readonly constraints: readonly ConstraintAnswer[];
  readonly lockFiles: readonly LockAnswer[];
}

/** One item a line, so that a change shows as a change of that line. */
function lines(items: readonly unknown[]): string {
  return `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]\n`;
}

/** Replaces all recorded answers. */
export async function writeAnswers(answers: RecordedAnswers): Promise<void> {
  await rm(ROOT, { recursive: true, force: true });
  await mkdir(ROOT, { recursive: true });
  await writeFile(join(ROOT, "version.json"), `${JSON.stringify(answers.version)}\n`);
  await writeFile(join(ROOT, "addresses.json"), lines(answers.addresses));
  await writeFile(join(ROOT, "constraints.json"), lines(answers.constraints));
  for (const { name, before, after, archives } of answers.lockFiles) {
    const directory = join(ROOT, "lock-files", name);
    await mkdir(directory, { recursive: true });
    if (before !== null) await writeFile(join(directory, "before.hcl"), before);
    await writeFile(join(directory, "after.hcl"), after);
    for (const [key, bytes] of archives) {
      await writeFile(join(directory, `${encodeURIComponent(key)}.zip`), bytes);
    }
  }
}

async function readLockAnswer(directory: string, name: string): Promise<LockAnswer> {
  const files = await readdir(directory);
  const read = (file: string) => readFile(join(directory, file));
  const archives = new Map<string, Uint8Array>();
  for (const file of files.filter((each) => each.endsWith(".zip"))) {
    archives.set(decodeURIComponent(file.slice(0, -".zip".length)), await read(file));
  }
  const before = files.includes("before.hcl") ? (await read("before.hcl")).toString() : null;
  return { name, before, after: (await read("after.hcl")).toString(), archives };
}

/** The recorded answers. */
export async function readAnswers(): Promise<RecordedAnswers> {
  const json = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(join(ROOT, file), "utf8"));
  const names = (await readdir(join(ROOT, "lock-files"))).toSorted();
  return {
    version: (await json("version.json")) as string,
    addresses: (await json("addresses.json")) as AddressAnswer[],
    constraints: (await json("constraints.json")) as ConstraintAnswer[],
    lockFiles: await Promise.all(
      names.map((name) => readLockAnswer(join(ROOT, "lock-files", name), name)),
    ),
  };
}
