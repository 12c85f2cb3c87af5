import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { UrlCredentials } from "@stackwright/fg-bridge";
import type { SigningCredentials } from "@stackwright/request-signing";
import type { Type } from "typebox";
import { EngineError } from "../errors.ts";
import type { CredentialsSchema } from "./function-targets-schema.ts";

/** Where credentials are. */
export type CredentialsLocation = Type.Static<typeof CredentialsSchema>;

/** Credentials as they were found. */
type CallerKey = UrlCredentials;

/** Where variables and relative paths are resolved. */
interface CredentialsFrom {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Reads credentials from where they are said to be. Messages name the place and never what is in it.
 *
 * `ENGINE_CONFIG_INVALID` where they are missing.
 */
export async function readCallerKey(
  place: CredentialsLocation,
  { directory, env }: CredentialsFrom,
): Promise<CallerKey> {
  const variable = (named: string): string => {
    const value = env[named];
    if (value !== undefined && value !== "") return value;
    throw new EngineError("ENGINE_CONFIG_INVALID", `the variable ${named} is not set`);
  };
  if ("file" in place) return readKeyFile(resolve(directory, place.file));
  if ("bearerTokenVariable" in place) {
    return { kind: "bearer", token: variable(place.bearerTokenVariable) };
  }
  const { accessKeyVariable, secretKeyVariable, securityTokenVariable } = place;
  return {
    kind: "signature",
    key: {
      accessKey: variable(accessKeyVariable),
      secretKey: variable(secretKeyVariable),
      ...(securityTokenVariable !== undefined && {
        securityToken: variable(securityTokenVariable),
      }),
    },
  };
}

/** Where the credentials come from, as text for messages. */
export function placeName(place: CredentialsLocation, directory: string): string {
  if ("file" in place) return `the file "${resolve(directory, place.file)}"`;
  if ("bearerTokenVariable" in place) return place.bearerTokenVariable;
  return `${place.accessKeyVariable} and ${place.secretKeyVariable}`;
}

/** `ENGINE_CONFIG_INVALID` for what is no access key: function platforms take signatures alone. */
export function signatureKey(found: CallerKey, whose: string): SigningCredentials {
  if (found.kind === "signature") return found.key;
  throw new EngineError(
    "ENGINE_CONFIG_INVALID",
    `${whose} are called with an access key, not with a bearer token`,
  );
}

async function readKeyFile(path: string): Promise<CallerKey> {
  const unusable = (why: string, cause?: unknown) =>
    new EngineError("ENGINE_CONFIG_INVALID", `the file of credentials "${path}" ${why}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The text of a parser would quote what is in the file.
    if (code === "ENOENT") throw unusable("does not exist", error);
    throw unusable(code === undefined ? "is not valid JSON" : `cannot be read (${code})`);
  }
  const { accessKey, secretKey, securityToken, bearerToken } = (value ?? {}) as Readonly<
    Record<string, unknown>
  >;
  if (typeof accessKey === "string" && typeof secretKey === "string") {
    return {
      kind: "signature",
      key: { accessKey, secretKey, ...(typeof securityToken === "string" && { securityToken }) },
    };
  }
  if (typeof bearerToken === "string") return { kind: "bearer", token: bearerToken };
  throw unusable("has neither accessKey and secretKey, nor bearerToken");
}
