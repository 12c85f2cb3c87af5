import { readJsonObject } from "@stackwright/base/json";
import type { ConflictPolicy } from "@stackwright/mux";
import { ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { EngineError } from "../errors.ts";

/** The name of the file beside a configuration that says which of its providers are made of several programs. */
export const JOINED_PROVIDERS_FILE = "stackwright.providers.json";

/** One program of a provider that is made of several. */
export interface JoinedProgram {
  /** Unique in its provider; errors and the list of types name it. */
  readonly name: string;
  readonly address: ProviderAddress;
  readonly constraints: VersionConstraints;
}

/** A provider that is made of several programs. */
export interface JoinedProvider {
  /** In the order that `conflicts` refers to. */
  readonly programs: readonly JoinedProgram[];
  /** Who serves what several programs have. */
  readonly conflicts: ConflictPolicy;
  /** The program that serves a type, data source or function which several have, by its name. */
  readonly owners: ReadonlyMap<string, string>;
}

/** Most programs of one provider: each is a process. */
const MAX_PROGRAMS = 32;

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 1024 });
const closed = { additionalProperties: false } as const;

const Schema = Type.Object(
  {
    providers: Type.Record(
      Type.String(),
      Type.Object(
        {
          programs: Type.Array(
            Type.Object(
              {
                source: text("its source address"),
                version: Type.Optional(text("a version constraint")),
                name: Type.Optional(text("its name in messages")),
              },
              closed,
            ),
            { minItems: 1, maxItems: MAX_PROGRAMS },
          ),
          conflicts: Type.Optional(
            Type.Union([Type.Literal("error"), Type.Literal("first"), Type.Literal("last")]),
          ),
          owners: Type.Optional(Type.Record(Type.String(), text("the name of a program"))),
        },
        closed,
      ),
    ),
  },
  closed,
);

const POLICIES = { error: "error", first: "first-wins", last: "last-wins" } as const;

/**
 * Reads the file that says which providers are made of several programs, by their full sources. `ENGINE_CONFIG_INVALID` says what is
 * wrong with it, and where.
 */
export function parseJoinedProviders(
  bytes: Uint8Array,
  name: string = JOINED_PROVIDERS_FILE,
): ReadonlyMap<string, JoinedProvider> {
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
  if (!Value.Check(Schema, object)) {
    const [first] = Value.Errors(Schema, object);
    const at = first?.instancePath.slice(1).replaceAll("~1", "/") || "it";
    const why =
      first?.keyword === "boolean" ? "is not a known member" : (first?.message ?? "is wrong");
    throw invalid(`${at} ${why}`);
  }
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
  const found = new Map<string, JoinedProvider>();
  for (const [source, entry] of Object.entries(object.providers)) {
    const address = addressOf(source).toString();
    if (found.has(address)) throw invalid(`${address} occurs twice`);
    const programs = entry.programs.map((program) => {
      const own = addressOf(program.source);
      return {
        name: program.name ?? own.toString().split("/").at(-1) ?? "",
        address: own,
        constraints: constraintsOf(program.version),
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
    found.set(address, { programs, conflicts: POLICIES[entry.conflicts ?? "error"], owners });
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
