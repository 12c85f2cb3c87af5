import { COOKIE_NAME, PLUGIN_VARIABLES } from "./plugin-protocol.ts";

/** The variables of a process. */
export type Environment = Readonly<Record<string, string>>;

/** Set by the launching side; what comes from elsewhere under these names is dropped. */
const RESERVED: ReadonlySet<string> = new Set([COOKIE_NAME, ...Object.values(PLUGIN_VARIABLES)]);

/** How a provider reaches the network of the machine it runs on. */
const NETWORK_VARIABLES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
];

/**
 * The environment of a provider that is started by a command on behalf of the person who typed it: all of the
 * command's own, as Terraform does it.
 */
export function inheritedEnvironment(
  own: Readonly<Record<string, string | undefined>>,
): Environment {
  return withoutReserved(own);
}

export interface StackEnvironmentInput {
  /** The variables that the stack is given (of category `env`). They win. */
  readonly variables: Readonly<Record<string, string>>;
  /** The server's own environment, of which only little is taken. */
  readonly own: Readonly<Record<string, string | undefined>>;
}

/**
 * The environment of a provider that a server starts for a stack: what the stack is given, and of the server's own
 * only its search path and its proxy and certificate settings. Above all none of the server's credentials, and no
 * `HOME` in which such lie: without one, the launcher makes a private one.
 */
export function stackEnvironment({ variables, own }: StackEnvironmentInput): Environment {
  const passed: Record<string, string | undefined> = { PATH: own.PATH };
  for (const name of NETWORK_VARIABLES) {
    for (const spelling of [name, name.toLowerCase()]) passed[spelling] = own[spelling];
  }
  return withoutReserved({ ...passed, ...variables });
}

function withoutReserved(from: Readonly<Record<string, string | undefined>>): Environment {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && !RESERVED.has(name)) kept[name] = value;
  }
  return kept;
}
