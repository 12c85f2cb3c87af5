import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { type Address, packageExtension } from "./package-extension.ts";

const [folder = "."] = process.argv.slice(2);
const manifest = await readFile(join(import.meta.dirname, "../../cli/package.json"), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };
const output = resolve(folder, `stackwright-${version}.vsix`);
// The public address of the project has one place.
const root = JSON.parse(
  await readFile(join(import.meta.dirname, "../../../package.json"), "utf8"),
) as Address;
const { repository, homepage, bugs } = root;
await packageExtension(output, version, {
  ...(repository !== undefined && { repository }),
  ...(homepage !== undefined && { homepage }),
  ...(bugs !== undefined && { bugs }),
});
process.stdout.write(`${output}\n`);
