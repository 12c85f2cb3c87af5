// Gives the manifest of every package below the given folders the exports and programs that a published package has:
// those of the built files, in place of those of the sources.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";

for (const parent of process.argv.slice(2)) {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name, "package.json");
    const { publishConfig, ...manifest } = JSON.parse(readFileSync(path, "utf8"));
    const { access: _, ...published } = publishConfig ?? {};
    writeFileSync(path, `${JSON.stringify({ ...manifest, ...published }, null, 2)}\n`);
  }
}
