import { JOINED_PROVIDERS_FILE, openProgramMux, type ProgramMux } from "@stackwright/core";
import { didYouMean } from "@stackwright/lang";
import type { SchemaConflict } from "@stackwright/mux";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { counted } from "../render/counted.ts";
import { openProgramEngine, type ProgramEngineOptions } from "../session/program-engine.ts";
import { printable } from "../terminal/printable.ts";

export type MuxOptions = ProgramEngineOptions;

export interface MuxReportOptions extends MuxOptions {
  readonly json: boolean;
}

type Kind = "resource" | "function" | "list";

interface TokenReport {
  readonly token: string;
  readonly kind: Kind;
  readonly program: string;
  readonly reason: string;
}

interface ProgramReport {
  readonly name: string;
  readonly source: string;
  readonly health: string;
  readonly resources: number;
  readonly functions: number;
  readonly reason?: string;
}

/** What is known of a provider of several programs. */
interface MuxReport {
  readonly provider: string;
  readonly package: string;
  readonly version: string;
  readonly programs: readonly ProgramReport[];
  readonly tokens: readonly TokenReport[];
  /** Names that several programs define. */
  readonly conflicts: readonly (SchemaConflict & {
    /** Whether the file says who has it. */
    readonly settled: boolean;
  })[];
}

/** Starts the programs and lists which one serves which token, and why; given tokens alone where there are some. */
export async function muxExplain(
  tokens: readonly string[],
  options: MuxReportOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const { known, ...report } = await reportOf(options, context, tokens);
  if (options.json) {
    terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  } else {
    const { style } = terminal;
    terminal.write(
      `${style.paint("strong", report.provider)} as package ${report.package} ${report.version}\n`,
    );
    for (const { name, source, health, resources, functions, reason } of report.programs) {
      const counts = `${counted(resources, "resource")}, ${counted(functions, "function")}`;
      terminal.write(
        `  program ${name} (${source}): ${health}${health === "absent" ? "" : `, ${counts}`}\n`,
      );
      if (reason !== undefined) terminal.write(`    ${printable(reason)}\n`);
    }
    for (const { kind, token, program, reason } of report.tokens) {
      terminal.write(`  ${kind} ${printable(token)}: ${program}, ${reason}\n`);
    }
    for (const conflict of report.conflicts) terminal.write(`  ${conflictText(conflict)}\n`);
  }
  const unknown = tokens.filter((token) => report.tokens.every((served) => served.token !== token));
  for (const token of unknown) {
    const meant = meantToken(token, known);
    terminal.writeError(`No program serves ${printable(token)}.${printable(meant)}\n`);
  }
  return unknown.length === 0 ? EXIT.ok : EXIT.failed;
}

/** A hint at the token that was probably meant: the whole one of a type that is named alone, else one that is written much alike. */
function meantToken(given: string, known: readonly string[]): string {
  const [whole] = known.filter((token) => token.endsWith(`:${given}`));
  return whole === undefined ? didYouMean(given, known) : ` Did you mean "${whole}"?`;
}

/** Starts the programs, and says what is wrong: programs that are not available, names of several that nothing decides. */
export async function muxCheck(
  options: MuxReportOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const report = await reportOf(options, context, []);
  const problems = [
    ...report.programs
      .filter(({ health }) => health !== "ready")
      .map(({ name, health, reason = "" }) => `the program ${name} is ${health}: ${reason}`),
    ...report.conflicts.filter(({ settled }) => !settled).map(conflictText),
  ];
  if (options.json) {
    terminal.write(`${JSON.stringify({ provider: report.provider, problems }, undefined, 2)}\n`);
  } else if (problems.length === 0) {
    const { length } = report.programs;
    terminal.write(
      `${report.provider}: ${counted(length, "program")}, ${counted(report.tokens.length, "token")}, no problem.\n`,
    );
  } else {
    for (const problem of problems) terminal.writeError(`${report.provider}: ${problem}\n`);
  }
  return problems.length === 0 ? EXIT.ok : EXIT.failed;
}

async function reportOf(
  options: MuxReportOptions,
  context: CommandContext,
  wanted: readonly string[],
): Promise<MuxReport & { readonly known: readonly string[] }> {
  await using opened = await openProgramEngine(options, context);
  const { source, entry, engine } = opened;
  await using programs = await openProgramMux(source, entry, {
    origins: engine.programOrigins,
    toleratesConflicts: true,
    degradedStart: true,
    signal: context.signal,
  });
  const { mux } = programs;
  const { resources, functions, listResources } = mux.dispatchTable;
  const all = [...resources.keys(), ...functions.keys(), ...(listResources?.keys() ?? [])];
  const known = [...new Set(all)].toSorted();
  const tokens = wanted.length > 0 ? wanted : known;
  return {
    known,
    provider: source,
    package: entry.served.name,
    version: entry.served.version,
    programs: await programReports(programs, entry.programs),
    tokens: tokens.flatMap((token) =>
      mux
        .explain(token)
        .uses.filter(({ kind }) => kind !== "list" || listResources?.has(token) === true)
        .map(({ kind, server, reason }) => ({ token, kind, program: server, reason })),
    ),
    conflicts: mux.conflicts.map((conflict) => ({
      ...conflict,
      settled: entry.conflicts !== "error" || programs.isOwned(conflict.token),
    })),
  };
}

async function programReports(
  running: ProgramMux,
  programs: readonly { readonly name: string; readonly address: { toString(): string } }[],
): Promise<readonly ProgramReport[]> {
  const sources = new Map(programs.map(({ name, address }) => [name, address.toString()]));
  return Promise.all(
    running.mux.status.servers.map(async ({ name, health, resources, functions, reason }) => {
      const lost =
        health === "absent"
          ? undefined
          : await running.check(name).then(
              () => undefined,
              (error: unknown) => (error instanceof Error ? error.message : String(error)),
            );
      const why = reason ?? lost;
      return {
        name,
        source: sources.get(name) ?? "",
        health: lost === undefined ? health : "lost",
        resources,
        functions,
        ...(why !== undefined && { reason: why }),
      };
    }),
  );
}

function conflictText({ kind, token, owner, others, settled }: MuxReport["conflicts"][number]) {
  const all = [owner, ...others].join(", ");
  return settled
    ? `${kind} ${printable(token)} is defined by ${all}; ${owner} has it`
    : `${kind} ${printable(token)} is defined by ${all}, and nothing says who has it: name one under "owners" in ${JOINED_PROVIDERS_FILE}`;
}
