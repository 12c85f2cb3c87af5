import type { SkippedProvider } from "@stackwright/core";
import { type Diagnostic, hasErrors } from "@stackwright/lang";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { diagnosticsReport, showDiagnostics } from "../render/show-diagnostics.ts";
import { requirementsOf } from "../session/install.ts";
import { openEngine } from "../session/open-engine.ts";
import { loadProject, type Project } from "../session/project.ts";
import { checkedFolder } from "../session/test-folder.ts";

export interface ValidateOptions {
  readonly json: boolean;
  /** Whether test files are checked as well. */
  readonly tests: boolean;
  /** The folder of test files besides the folder itself. */
  readonly testDirectory: string;
}

/**
 * Checks the configuration without values, state or anything outside: the text, arguments against the schemas of providers, and
 * what providers say to them. Providers that are not installed are not brought; a warning says what was not checked.
 */
export async function validate(
  { json, tests, testDirectory }: ValidateOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(
    context,
    undefined,
    tests ? { testFolder: checkedFolder(testDirectory) } : {},
  );
  await using engine = await openEngine(project, context, { asInstalled: true });
  const { configuration } = project;
  const found = await engine.validate({ configuration, signal: context.signal });
  const diagnostics = [
    ...found.diagnostics,
    ...(project.tests?.diagnostics ?? []),
    ...found.unchecked.flatMap(uncheckedIn(project)),
  ];
  const ok = !hasErrors(diagnostics);
  if (json) {
    terminal.write(`${JSON.stringify(diagnosticsReport(diagnostics), undefined, 2)}\n`);
  } else {
    showDiagnostics(terminal, diagnostics);
    if (ok) {
      const but = diagnostics.length > 0 ? ", with the warnings above" : "";
      const valid = found.unchecked.length > 0 ? "valid as far as it was checked" : "valid";
      terminal.write(
        `${terminal.style.paint("success", `The configuration is ${valid}`)}${but}.\n`,
      );
    }
  }
  return ok ? EXIT.ok : EXIT.failed;
}

/** Most blocks that are named. */
const NAMED = 10;

function uncheckedIn(project: Project): (provider: SkippedProvider) => readonly Diagnostic[] {
  const installable = new Set(requirementsOf(project).map(({ address }) => address.toString()));
  return ({ source, reason, blocks }) => {
    if (blocks.length === 0) return [];
    const names = blocks.slice(0, NAMED).map((block) => `  - ${block}`);
    const rest = blocks.length - names.length;
    if (rest > 0) names.push(`  - and ${rest} more`);
    const why = installable.has(source)
      ? `The provider ${source} is not installed; "stackwright init" brings it.`
      : `The provider ${source} cannot be asked: ${reason}.`;
    return [
      {
        severity: "warning",
        code: "ENGINE_VALIDATE",
        summary: "Not checked against a schema",
        detail: `${why} Not checked are the arguments of\n\n${names.join("\n")}`,
      },
    ];
  };
}
