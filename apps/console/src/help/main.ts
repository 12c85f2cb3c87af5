import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { buildHelp } from "./build-help.ts";

// Writes the documentation into the given folder, which is emptied; without one prints its files as JSON, each in base64.
const [given] = process.argv.slice(2);
const files = await buildHelp(join(import.meta.dirname, "../../../.."));
if (given === undefined) {
  const members = [...files].map(([path, content]) => [path, content.toString("base64")]);
  process.stdout.write(JSON.stringify(Object.fromEntries(members)));
} else {
  const folder = resolve(given);
  await rm(folder, { recursive: true, force: true });
  for (const [path, content] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}
