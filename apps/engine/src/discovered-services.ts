import { LOGIN_CLIENT, LOGIN_PORTS } from "@stackwright/tfe";
import { DEVICE_PAGE } from "./device-login/device-pages.ts";
import { DEVICE_CLIENT } from "./device-login/device-plugin.ts";
import { MODULES_PREFIX } from "./module-api/module-plugin.ts";
import { TFE_PREFIX } from "./run-server.ts";

/** Where commands sign in. */
export const LOGIN_PREFIX = "/oauth";

/**
 * What service discovery names for commands: the block `cloud`, the backend `remote`, that with `TF_FORCE_LOCAL_BACKEND`, and the logins.
 * That of another machine needs users who sign in.
 */
export function discoveredServices(hasSignIn: boolean): Readonly<Record<string, unknown>> {
  const names = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"];
  return {
    "modules.v1": `${MODULES_PREFIX}/`,
    ...Object.fromEntries(names.map((name) => [name, `${TFE_PREFIX}/`])),
    "login.v1": {
      client: LOGIN_CLIENT,
      grant_types: ["authz_code"],
      authz: `${LOGIN_PREFIX}/authorize`,
      token: `${LOGIN_PREFIX}/token`,
      ports: LOGIN_PORTS,
    },
    ...(hasSignIn && {
      "device.v1": {
        client: DEVICE_CLIENT,
        code: `${DEVICE_PAGE}/code`,
        token: `${DEVICE_PAGE}/token`,
      },
    }),
  };
}
