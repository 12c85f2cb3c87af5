import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { EngineError } from "@stackwright/core/errors";
import { Type } from "typebox";
import { Value } from "typebox/value";

const Text = Type.String({ minLength: 1, maxLength: 512 });
const SignInFile = Type.Object(
  {
    providers: Type.Array(
      Type.Object(
        {
          name: Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" }),
          issuer: Text,
          client_id: Text,
          client_secret_file: Type.Optional(Text),
          client_secret_variable: Type.Optional(Text),
          account: Type.Optional(Type.String({ pattern: "^[a-z0-9][a-z0-9-]{0,62}$" })),
          scopes: Type.Optional(Type.Array(Text, { maxItems: 20 })),
          groups_claim: Type.Optional(Text),
          link_verified_email: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 20 },
    ),
  },
  { additionalProperties: false },
);

/** An identity provider that users sign in with. */
export interface SignInProvider {
  readonly name: string;
  readonly issuer: URL;
  readonly clientId: string;
  /** Undefined: a public client. */
  readonly clientSecret: string | undefined;
  readonly account: string;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  /** Whether an address of mail that the provider verified is that of the user who was made with it. */
  readonly linksVerifiedEmail: boolean;
}

/** Reads the file of `--sign-in`. `ENGINE_CONFIG_INVALID` says what is wrong, without values. */
export async function readSignInFile(
  path: string,
  env: NodeJS.ProcessEnv,
): Promise<readonly SignInProvider[]> {
  let given: unknown;
  try {
    given = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw invalid(path, (error as NodeJS.ErrnoException).code ?? "it is not JSON");
  }
  if (!Value.Check(SignInFile, given)) {
    const problems = [...Value.Errors(SignInFile, given)];
    throw invalid(path, problems.map((one) => `${one.instancePath} ${one.message}`).join("; "));
  }
  const names = new Set(given.providers.map(({ name }) => name));
  if (names.size < given.providers.length) throw invalid(path, "two providers have one name");
  return Promise.all(
    given.providers.map(async (one) => ({
      name: one.name,
      issuer: issuerOf(path, one.issuer),
      clientId: one.client_id,
      clientSecret: await secretOf(path, one, env),
      account: one.account ?? "default",
      scopes: one.scopes ?? ["openid", "profile", "email"],
      groupsClaim: one.groups_claim ?? "groups",
      linksVerifiedEmail: one.link_verified_email ?? false,
    })),
  );
}

/** Who an issuer is must not be read or changed on the way: only one on this machine goes without TLS. */
function issuerOf(path: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:") return url;
  if (url?.protocol === "http:" && isLocalIssuer(url)) return url;
  throw invalid(path, "an issuer is an https address");
}

/** Whether an issuer is on this machine. */
export function isLocalIssuer({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.[0-9.]+$/.test(hostname);
}

async function secretOf(
  path: string,
  given: { readonly client_secret_file?: string; readonly client_secret_variable?: string },
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const { client_secret_file: file, client_secret_variable: variable } = given;
  if (file !== undefined && variable !== undefined) {
    throw invalid(path, "client_secret_file and client_secret_variable exclude each other");
  }
  if (variable !== undefined) {
    const value = env[variable];
    if (value === undefined || value === "") throw invalid(path, `${variable} is not set`);
    return value;
  }
  if (file === undefined) return undefined;
  try {
    return (await readFile(resolve(dirname(path), file), "utf8")).trim();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw invalid(path, `client_secret_file cannot be read: ${code}`);
  }
}

function invalid(path: string, problem: string): EngineError {
  return new EngineError(
    "ENGINE_CONFIG_INVALID",
    `the server cannot start: the file of --sign-in, ${path}: ${problem}`,
  );
}
