import { readJsonObject } from "@stackwright/base/json";
import type { ConflictPolicy, ServerLimits } from "@stackwright/mux";
import { ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import type { ProgramParameters } from "./catalog.ts";
import { localName } from "./local-provider.ts";

/** The name of the file beside a configuration that says which of its providers are made of several programs. */
export const JOINED_PROVIDERS_FILE = "stackwright.providers.json";

/** One program of a provider that is made of several. */
export interface JoinedProgram {
  /** Unique in its provider; errors and the list of types name it. */
  readonly name: string;
  readonly address: ProviderAddress;
  readonly constraints: VersionConstraints;
  /** What makes another package of it, for a plug-in of Pulumi that takes parameters. @default it is what it is */
  readonly parameters?: ProgramParameters;
  /** Deadlines of its methods where it is served by `mux serve`, in milliseconds. */
  readonly deadlinesMs: NonNullable<ServerLimits["methodTimeoutMs"]>;
}

/** How the programs are served as one provider to engines of Pulumi. */
export interface ServedPackage {
  readonly name: string;
  readonly version: string;
  /** Whether it starts without programs that are not available, which come in later. */
  readonly degradedStart: boolean;
}

/** A provider that is made of several programs. */
export interface JoinedProvider {
  /** In the order that `conflicts` refers to. */
  readonly programs: readonly JoinedProgram[];
  /** Who serves what several programs have. */
  readonly conflicts: ConflictPolicy;
  /** The program that serves a type, data source or function which several have, by its name. */
  readonly owners: ReadonlyMap<string, string>;
  readonly served: ServedPackage;
}

const POLICIES = { error: "error", first: "first-wins", last: "last-wins" } as const;

/**
 * Reads the file that says which providers are made of several programs, by their full sources. `ENGINE_CONFIG_INVALID` says what is
 * wrong with it, and where.
 */
export async function parseJoinedProviders(
  bytes: Uint8Array,
  name: string = JOINED_PROVIDERS_FILE,
): Promise<ReadonlyMap<string, JoinedProvider>> {
  const invalid = (what: string, cause?: unknown): EngineError =>
    new EngineError("ENGINE_CONFIG_INVALID", `${name}: ${what}`, { cause });
  const { object, problem } = readJsonObject(bytes);
  if (problem !== undefined) {
    throw invalid(
      problem.kind === "duplicate-name"
        ? `the name "${problem.name}" occurs twice in one object`
        : "it is not a JSON object",
    );
  }
  // Loaded where there is such a file: most commands need neither the schema nor its checker.
  const { checkJoinedFile } = await import("./joined-file-schema.ts");
  const file = checkJoinedFile(object);
  if (typeof file === "string") throw invalid(file);
  const addressOf = (source: string): ProviderAddress => {
    try {
      return ProviderAddress.parse(source);
    } catch (error) {
      throw invalid(error instanceof Error ? error.message : String(error), error);
    }
  };
  const constraintsOf = (version: string | undefined): VersionConstraints => {
    try {
      return version === undefined ? VersionConstraints.any : VersionConstraints.parse(version);
    } catch (error) {
      throw invalid(error instanceof Error ? error.message : String(error), error);
    }
  };
  const parametersOf = (own: ProviderAddress, parameters: ProgramParameters): ProgramParameters => {
    if (localName(own, "pulumi") !== undefined) return parameters;
    throw invalid(`${own.toString()} takes no "parameters": these are for plug-ins of Pulumi`);
  };
  const found = new Map<string, JoinedProvider>();
  for (const [source, entry] of Object.entries(file.providers ?? {})) {
    const address = addressOf(source).toString();
    if (found.has(address)) throw invalid(`${address} occurs twice`);
    const programs = entry.programs.map((program) => {
      const own = addressOf(program.source);
      return {
        name: program.name ?? lastPart(own.toString()),
        address: own,
        constraints: constraintsOf(program.version),
        ...(program.parameters !== undefined && {
          parameters: parametersOf(own, program.parameters),
        }),
        deadlinesMs: Object.fromEntries(
          Object.entries(program.deadlines ?? {}).map(([method, seconds]) => [
            method,
            Number(seconds) * 1000,
          ]),
        ),
      };
    });
    const names = new Set<string>();
    for (const { name: program } of programs) {
      if (names.has(program)) {
        throw invalid(
          `two programs of ${source} have the name "${program}"; give one another "name"`,
        );
      }
      names.add(program);
    }
    const owners = new Map(Object.entries(entry.owners ?? {}));
    for (const [type, owner] of owners) {
      if (!names.has(owner)) {
        throw invalid(
          `"owners" of ${source} gives ${type} to "${owner}", and the programs are ${[...names].map((program) => `"${program}"`).join(", ")}`,
        );
      }
    }
    const served = {
      name: entry.package?.name ?? lastPart(address),
      version: entry.package?.version ?? "0.0.0",
      degradedStart: entry.package?.degradedStart ?? false,
    };
    found.set(address, {
      programs,
      conflicts: POLICIES[entry.conflicts ?? "error"],
      owners,
      served,
    });
  }
  for (const [source, { programs }] of found) {
    const nested = programs.find(({ address }) => found.has(address.toString()));
    if (nested !== undefined) {
      throw invalid(
        `the program "${nested.name}" of ${source} is itself made of several programs; list those instead`,
      );
    }
  }
  return found;
}

function lastPart(source: string): string {
  return source.split("/").at(-1) ?? "";
}
