import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The variable of one module that every other module passes; its declaration is what references are asked of. */
export const SHARED = "platform_region";
/** Its declaration. */
export const DECLARATION = { path: "modules/base/variables.tf", line: 0, character: 10 };
/** Where the editor completes a name: behind `module.base.` in the root. */
export const COMPLETION = { path: "main.tf", line: 1, character: 22 };

const ROOT = `output "completed" {
  value = module.base.
}
module "base" {
  source          = "./modules/base"
  ${SHARED} = "eu"
}
`;

/** Files of a module like those of real repositories: 8 variables, 6 resources, 4 outputs, a call of the shared module. */
function moduleFiles(index: number): Readonly<Record<string, string>> {
  const variables = Array.from(
    { length: 8 },
    (_, at) => `variable "input_${at}" {
  description = "Input ${at} of the module ${index}."
  type        = object({ name = string, size = optional(number, ${at}) })
}
`,
  );
  const resources = Array.from(
    { length: 6 },
    (_, at) => `resource "terraform_data" "r${at}" {
  count = var.input_${at}.size
  input = {
    name   = "\${var.input_${at}.name}-${index}"
    region = module.base.region
    rules  = [for one in local.names : upper(one) if one != var.input_${at + 1}.name]
  }
}
`,
  );
  const outputs = Array.from(
    { length: 4 },
    (_, at) => `output "id_${at}" {
  value = terraform_data.r${at}[*].id
}
`,
  );
  return {
    "variables.tf": variables.join("\n"),
    "main.tf": `locals {
  names = [var.input_0.name, var.input_1.name]
}
module "base" {
  source          = "../base"
  ${SHARED} = "eu-${index}"
}
${resources.join("\n")}`,
    "outputs.tf": outputs.join("\n"),
  };
}

/** Writes a repository of so many modules, all of which call one of them, and returns the paths of its files. */
export async function writeRepository(folder: string, modules: number): Promise<string[]> {
  const files = new Map<string, string>([
    ["main.tf", ROOT],
    [DECLARATION.path, `variable "${SHARED}" {\n  type = string\n}\n`],
    ["modules/base/outputs.tf", `output "region" {\n  value = var.${SHARED}\n}\n`],
  ]);
  for (let index = 1; index < modules; index += 1) {
    for (const [name, text] of Object.entries(moduleFiles(index))) {
      files.set(`modules/m${index}/${name}`, text);
    }
  }
  const paths: string[] = [];
  for (const [name, text] of files) {
    const path = join(folder, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
    paths.push(path);
  }
  return paths;
}
