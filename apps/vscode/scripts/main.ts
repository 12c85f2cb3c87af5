import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { packageExtension } from "./package-extension.ts";

const [folder = "."] = process.argv.slice(2);
const manifest = await readFile(join(import.meta.dirname, "../../cli/package.json"), "utf8");
const { version } = JSON.parse(manifest) as { readonly version: string };
const output = resolve(folder, `stackwright-${version}.vsix`);
await packageExtension(output, version);
process.stdout.write(`${output}\n`);
