import { PROVIDER_PROJECT_FILE } from "../project-file.ts";
import type { TemplateNames } from "./template-names.ts";

/** The README of a new project. */
export function readmeText({ name, source }: TemplateNames): string {
  return `# terraform-provider-${name}

The provider \`${source}\`.

| Command                      | Does                                                                  |
| ---------------------------- | --------------------------------------------------------------------- |
| \`npm install\`                | installs the libraries                                                |
| \`npm test\`                   | the tests, in the process                                             |
| \`stackwright provider test\`  | starts the program and checks it with the samples of ${PROVIDER_PROJECT_FILE} |
| \`stackwright provider dev\`   | keeps it running for templates, with reload                           |
| \`npm run build\`              | makes one file of it, for \`stackwright provider publish\`              |

| File                | Has                                                                |
| ------------------- | ------------------------------------------------------------------ |
| \`src/provider.ts\`   | the provider: settings, resources, data sources                    |
| \`src/main.ts\`       | the provider as a program                                          |
| \`src/function.ts\`   | the provider as an HTTP function; \`functions.json\` runs it locally |
| \`src/pulumi.ts\`     | the provider as a plug-in of Pulumi                                |
| \`bin/\`              | the program as \`dev_overrides\` finds it                            |
| \`example/\`          | a template that uses it                                            |
`;
}
