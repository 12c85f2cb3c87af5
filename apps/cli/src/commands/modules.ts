import type { ModuleRecord } from "@stackwright/core";
import { hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { loadProject } from "../session/project.ts";

/** Lists the modules that a configuration calls. Nothing is installed. */
export async function modules(
  { json }: { readonly json: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(context, undefined, { mode: "never" });
  const { diagnostics } = project.configuration;
  if (hasErrors(diagnostics)) {
    showDiagnostics(terminal, diagnostics);
    return EXIT.failed;
  }
  const called = project.modules.modules
    .filter(({ key }) => key !== "")
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (json) {
    const listed = called.map(({ key, source, version = "" }) => ({
      key: nameOf(key),
      source,
      version,
    }));
    const document = { format_version: "1.0", modules: listed.length === 0 ? null : listed };
    terminal.write(`${JSON.stringify(document)}\n`);
  } else if (called.length === 0) {
    terminal.write("No modules found in configuration.\n");
  } else {
    terminal.write(`\nModules declared by configuration:\n.\n${branches(called, "", "")}\n`);
  }
  return EXIT.ok;
}

/** The calls below one, as a tree. */
function branches(all: readonly ModuleRecord[], parent: string, indent: string): string {
  const below = all.filter(({ key }) => parentOf(key) === parent);
  return below
    .map(({ key, source, version }, at) => {
      const isLast = at === below.length - 1;
      const text = `${indent}${isLast ? "└── " : "├── "}"${nameOf(key)}"[${source}]${version === undefined ? "" : ` ${version}`}\n`;
      return text + branches(all, key, `${indent}${isLast ? "    " : "│   "}`);
    })
    .join("");
}

function nameOf(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

function parentOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf(".")));
}
