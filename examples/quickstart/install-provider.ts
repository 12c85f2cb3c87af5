import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

const folder = import.meta.dirname;

/**
 * Puts the local provider of this folder where installations look for it (`terraform.d/plugins`), for the platform that
 * this runs on. A provider that is published would come from a registry.
 */
export async function installProvider(): Promise<void> {
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const place = join(
    folder,
    "terraform.d/plugins/example.com/quickstart/files/0.1.0",
    `${process.platform}_${arch}`,
  );
  await mkdir(place, { recursive: true });
  const program = join(place, "terraform-provider-files_v0.1.0");
  const script = await readFile(join(folder, "provider/start.sh"), "utf8");
  const wanted = script.replace("@PROVIDER@", join(folder, "provider/main.ts"));
  const present = await readFile(program, "utf8").catch(() => undefined);
  if (present === wanted) return;
  await writeFile(program, wanted);
  await chmod(program, 0o755);
  // The folder has moved: what was locked is another file, on purpose.
  if (present !== undefined) await rm(join(folder, ".terraform.lock.hcl"), { force: true });
}

if (import.meta.main) await installProvider();
