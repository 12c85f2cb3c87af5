import { PROVIDER_PROJECT_FILE } from "../project-file.ts";
import { functionCode, mainCode, providerCode, pulumiCode, testCode } from "./provider-code.ts";
import { readmeText } from "./readme-text.ts";
import type { TemplateFile, TemplateNames } from "./template-names.ts";

/** The files of a new project of a provider. */
export function projectFiles(names: TemplateNames): readonly TemplateFile[] {
  const { name, source, libraries } = names;
  const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;
  return [
    {
      path: "package.json",
      text: json({
        name: `terraform-provider-${name}`,
        version: "0.1.0",
        private: true,
        type: "module",
        engines: { node: ">=24" },
        scripts: {
          test: "node --test",
          typecheck: "tsc",
          check: "stackwright provider test",
          dev: "stackwright provider dev",
          build: `rolldown src/main.ts --platform node --format esm --file dist/terraform-provider-${name}`,
        },
        dependencies: {
          "@stackwright/fg-bridge": libraries,
          "@stackwright/mux": libraries,
          "@stackwright/tfplugin": libraries,
        },
        devDependencies: {
          "@types/node": "^24.0.0",
          rolldown: "^1.0.0",
          stackwright: libraries,
          typescript: ">=5.9",
        },
      }),
    },
    {
      path: PROVIDER_PROJECT_FILE,
      text: json({
        source,
        command: ["node", "src/main.ts"],
        program: `dist/terraform-provider-${name}`,
        samples: {
          settings: { folder: "scratch" },
          resources: {
            [`${name}_note`]: {
              config: { name: "sample", text: "one" },
              update: { name: "sample", text: "two" },
              replace: { name: "other", text: "two" },
              import: "name",
            },
          },
          dataSources: { [`${name}_note`]: { name: "absent" } },
        },
      }),
    },
    {
      path: "tsconfig.json",
      text: json({
        compilerOptions: {
          target: "esnext",
          lib: ["esnext"],
          module: "nodenext",
          types: ["node"],
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          allowImportingTsExtensions: true,
          erasableSyntaxOnly: true,
          verbatimModuleSyntax: true,
        },
        include: ["src"],
      }),
    },
    {
      path: "functions.json",
      text: json({
        functions: [
          {
            urn: `urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:${name}:latest`,
            command: ["node", "src/function.ts"],
            env: { JOURNAL: ".journal" },
          },
        ],
      }),
    },
    // Where the example writes, by `provider dev` and by `dev_overrides`.
    {
      path: ".gitignore",
      text: "/node_modules\n/dist\n/scratch\n/.journal\n/notes\n/example/notes\n",
    },
    { path: "src/provider.ts", text: providerCode(names) },
    { path: "src/main.ts", text: mainCode(names) },
    { path: "src/function.ts", text: functionCode(names) },
    { path: "src/pulumi.ts", text: pulumiCode(names) },
    { path: "src/provider.test.ts", text: testCode(names) },
    {
      path: `bin/terraform-provider-${name}`,
      text: '#!/bin/sh\nexec node "$(dirname "$0")/../src/main.ts" "$@"\n',
      isExecutable: true,
    },
    { path: "example/main.tf", text: exampleText(names) },
    { path: "README.md", text: readmeText(names) },
  ];
}

function exampleText({ name, source }: TemplateNames): string {
  return `terraform {
  required_providers {
    ${name} = {
      source = "${source}"
    }
  }
}

provider "${name}" {
  folder = "notes"
}

resource "${name}_note" "todo" {
  name = "todo"
  text = "Write a provider."
}

output "id" {
  value = ${name}_note.todo.id
}
`;
}
