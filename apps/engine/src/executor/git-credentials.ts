/** Begins the names of variables that hold a token for a host of repositories. */
const GIT_TOKEN = "GIT_TOKEN_";

/**
 * The environment in which git fetches modules for a run: no configuration of the machine, https alone, and the token of a stack for each
 * host that it has one for. The token is in no argument, which other users of the machine could read, and goes to its host alone.
 */
export function gitCredentials(
  environment: Readonly<Record<string, string>>,
  hosts: readonly string[],
): NodeJS.ProcessEnv {
  const settings: [string, string][] = [
    // An answer must not lead a credential elsewhere.
    ["http.followRedirects", "false"],
    ["credential.helper", ""],
  ];
  for (const host of hosts) {
    const token = environment[`${GIT_TOKEN}${variableNameOf(host)}`];
    if (token === undefined || token === "") continue;
    // With a colon it is a login; a token alone has the user that hosts of repositories accept.
    const login = token.includes(":") ? token : `x-access-token:${token}`;
    const value = `Authorization: Basic ${Buffer.from(login).toString("base64")}`;
    settings.push([`http.https://${host}/.extraHeader`, value]);
  }
  return {
    GIT_ALLOW_PROTOCOL: "https",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${at}`, key],
        [`GIT_CONFIG_VALUE_${at}`, value],
      ]),
    ),
  };
}

/** As in the names of variables with tokens of registries: a dot is an underscore, a dash two; a port follows after one more. */
function variableNameOf(host: string): string {
  return host.toLowerCase().replaceAll("-", "__").replaceAll(".", "_").replace(":", "_");
}
