import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

// Puts the provider of this folder where installations look for it (`terraform.d/plugins`), for the
// platform that this runs on. A provider that is published would come from a registry.
const folder = import.meta.dirname;
const arch = process.arch === "x64" ? "amd64" : process.arch;
const place = join(
  folder,
  "terraform.d/plugins/example.com/quickstart/files/0.1.0",
  `${process.platform}_${arch}`,
);
await mkdir(place, { recursive: true });
const program = join(place, "terraform-provider-files_v0.1.0");
const script = await readFile(join(folder, "provider/start.sh"), "utf8");
await writeFile(program, script.replace("@PROVIDER@", join(folder, "provider/main.ts")));
await chmod(program, 0o755);
