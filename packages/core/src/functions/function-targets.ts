import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { FunctionTargetTable, TargetTableOptions } from "@stackwright/fg-bridge";
import type { Type } from "typebox";
import { EngineError } from "../errors.ts";
import {
  type CredentialsLocation,
  placeName,
  readCallerKey,
  signatureKey,
} from "./caller-credentials.ts";
import type { FunctionTargetsSchema } from "./function-targets-schema.ts";

/** A table of functions, read and checked. */
type FunctionTargets = Type.Static<typeof FunctionTargetsSchema>;

/** Where the functions of private providers are called. Disposing ends the connections. */
interface OpenFunctionsTable extends AsyncDisposable {
  readonly table: FunctionTargets;
  readonly targets: FunctionTargetTable;
  /** The same as data, with the credentials. */
  readonly rows: Pick<TargetTableOptions, "functions" | "regions">;
}

/** The key of a platform where the table says nothing else; the bridge of a user reads the same variables. */
const PLATFORM_KEY = {
  accessKeyVariable: "STACKWRIGHT_ACCESS_KEY",
  secretKeyVariable: "STACKWRIGHT_SECRET_KEY",
} as const;

/**
 * Reads an operator's table of functions, with the secrets that it refers to. Paths in it are relative to it.
 *
 * `ENGINE_CONFIG_INVALID` says what is wrong with it, and which variable or file is missing.
 *
 * @param readers who reads why a function refused a call: the operator learns where the credentials are, others do not
 */
export async function loadFunctionTargets(
  path: string,
  env: NodeJS.ProcessEnv,
  readers: "operator" | "others" = "operator",
): Promise<OpenFunctionsTable> {
  const table = await readTable(path);
  const from = { directory: dirname(resolve(path)), env };
  const named = (what: string, place: CredentialsLocation) =>
    readers === "others"
      ? `the credentials of ${what} in the server's table of functions`
      : `the credentials of ${what} in the table of functions "${path}", which are in ${placeName(place, from.directory)}`;
  try {
    const functions = await mapValues(table.functions ?? {}, async ({ url, credentials }, urn) => ({
      url,
      ...(credentials !== undefined && {
        credentials: await readCallerKey(credentials, from),
        credentialsName: named(`the function ${urn}`, credentials),
      }),
    }));
    const regions = await mapValues(table.regions ?? {}, async (row, region) => {
      const place = row.credentials ?? PLATFORM_KEY;
      const whose = `the functions of region ${region}`;
      return {
        endpoint: row.endpoint,
        ...(row.functionKind !== undefined && { functionKind: row.functionKind }),
        credentials: signatureKey(await readCallerKey(place, from), whose),
        credentialsName: named(`region ${region}`, place),
      };
    });
    const { FunctionTargetTable: Table } = await import("@stackwright/fg-bridge");
    const targets = new Table({
      functions,
      regions,
      guard: { allow: table.networks ?? [] },
    });
    return {
      table,
      targets,
      rows: { functions, regions },
      [Symbol.asyncDispose]: async () => targets[Symbol.asyncDispose](),
    };
  } catch (error) {
    throw invalid(path, error);
  }
}

async function readTable(path: string): Promise<FunctionTargets> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw invalid(path, error);
  }
  // Loaded where there is such a file: most commands need neither the schema nor its checker.
  const { checkFunctionTargets } = await import("./function-targets-schema.ts");
  const found = checkFunctionTargets(value);
  if (typeof found !== "string") return found;
  throw invalid(path, new Error(found));
}

function invalid(path: string, cause: unknown): EngineError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new EngineError(
    "ENGINE_CONFIG_INVALID",
    `The table of functions "${path}" cannot be used: ${why}.`,
    { cause },
  );
}

async function mapValues<In, Out>(
  given: Readonly<Record<string, In>>,
  map: (value: In, key: string) => Promise<Out>,
): Promise<Record<string, Out>> {
  const made: [string, Out][] = [];
  for (const [key, value] of Object.entries(given)) made.push([key, await map(value, key)]);
  return Object.fromEntries(made);
}
