// Records one folder of `e2e/formats`: files as the release that runs this wrote them.
// node e2e/src/formats/record.ts e2e/formats/<version>
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { hashArchive, writeArchive } from "@stackwright/provider-source";
import { cli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import { ARCHIVE_FILES, CONFIGURATION, STORE_DIRECTORY } from "./recorded-formats.ts";

const [target] = process.argv.slice(2);
if (target === undefined) throw new Error("usage: node e2e/src/formats/record.ts <directory>");
const directory = resolve(target);

await using scratch = await Scratch.make();
await scratch.write(CONFIGURATION);

async function run(words: readonly string[], codes: readonly number[] = [0]): Promise<string> {
  const { code, output, error } = await cli(scratch, words);
  if (code === undefined || !codes.includes(code)) throw new Error(`${words.join(" ")}: ${error}`);
  return output;
}

await run(["up", "-y"]);
await run(["up", "-y", "--var", "greeting=hello again"]);
await run(["up", "-y", "--var", "greeting=hello"]);
const state = await run(["export-state"]);
await run(["plan", "--var", "greeting=bye", "--out", "next.plan"], [0, 2]);

await rm(directory, { recursive: true, force: true });
await mkdir(directory, { recursive: true });
await cp(scratch.work, join(directory, "stack"), {
  recursive: true,
  filter: (path) => !/\.db-shm$|\.lock$|writer\.json$|\.gitignore$/.test(path),
});
// Under its own name git would ignore it.
await cp(join(directory, "stack/.stackwright"), join(directory, `stack/${STORE_DIRECTORY}`), {
  recursive: true,
});
await rm(join(directory, "stack/.stackwright"), { recursive: true });
await writeFile(join(directory, "state.tfstate"), state);
const archive = join(directory, "archive.zip");
await writeArchive(
  archive,
  Object.entries(ARCHIVE_FILES).map(([path, text]) => ({
    path,
    mode: path.startsWith("terraform-provider-") ? 0o755 : 0o644,
    content: new TextEncoder().encode(text),
  })),
);
await writeFile(
  join(directory, "archive.json"),
  `${JSON.stringify(await hashArchive(archive), undefined, 2)}\n`,
);
