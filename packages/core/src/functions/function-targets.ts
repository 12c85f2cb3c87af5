import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { FunctionTargetTable } from "@stackwright/fg-bridge";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { EngineError } from "../errors.ts";
import {
  type CredentialsLocation,
  CredentialsSchema,
  placeName,
  readCallerKey,
  signatureKey,
} from "./caller-credentials.ts";

const text = (description: string) => Type.String({ description, minLength: 1, maxLength: 4096 });
const closed = { additionalProperties: false } as const;

/** What an operator's table of functions says, as JSON. It holds no secrets; it names where they are. */
const FunctionTargetsSchema = Type.Object(
  {
    account: Type.Optional(text("the account whose providers are meant; without it, any")),
    region: Type.Optional(text("the region whose providers are meant")),
    projects: Type.Array(text("a project"), {
      description: "projects whose functions may be called",
    }),
    functions: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          { url: text("origin of the function"), credentials: Type.Optional(CredentialsSchema) },
          closed,
        ),
        { description: "self-hosted functions by their whole URN" },
      ),
    ),
    regions: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            endpoint: text("origin of the invoke API"),
            functionKind: Type.Optional(Type.Union([Type.Literal("http"), Type.Literal("event")])),
            credentials: Type.Optional(CredentialsSchema),
          },
          closed,
        ),
        { description: "function platforms by region" },
      ),
    ),
    networks: Type.Optional(
      Type.Array(text("a network"), {
        description: "private networks that functions may be in, such as 127.0.0.0/8",
      }),
    ),
  },
  closed,
);

/** A table of functions, read and checked. */
export type FunctionTargets = Type.Static<typeof FunctionTargetsSchema>;

/** Where the functions of private providers are called. Disposing ends the connections. */
interface OpenFunctionsTable extends AsyncDisposable {
  readonly table: FunctionTargets;
  readonly targets: FunctionTargetTable;
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
    const targets = new FunctionTargetTable({
      functions,
      regions,
      guard: { allow: table.networks ?? [] },
    });
    return { table, targets, [Symbol.asyncDispose]: async () => targets[Symbol.asyncDispose]() };
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
  if (Value.Check(FunctionTargetsSchema, value)) return value;
  const [first] = Value.Errors(FunctionTargetsSchema, value);
  const at = first?.instancePath.slice(1).replaceAll("/", ".") || "it";
  const why = first?.keyword === "boolean" ? "is no member of it" : (first?.message ?? "is wrong");
  throw invalid(path, new Error(`${at} ${why}`));
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
