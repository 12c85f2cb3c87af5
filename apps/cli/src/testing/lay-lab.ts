import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Makes the folder for the records of terraform-provider-lab, and the file for `TF_CLI_CONFIG_FILE` that has commands use its program.
 *
 * @param folder where both are made
 */
export async function layLab(
  folder: string,
  program: string,
): Promise<{ readonly lab: string; readonly rc: string }> {
  const lab = join(folder, "lab");
  await mkdir(lab);
  const rc = join(folder, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(program))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  return { lab, rc };
}
