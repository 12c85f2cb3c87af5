import { RfsStacksError } from "../errors.ts";
import type { Operation } from "./operation.ts";

const MODULES =
  "private modules of the service: publish them with: stackwright modules publish, and name them by their address of this server";
const HOOKS = "private hooks of the service: this server has policy sets instead";

type Route = readonly [name: string, method: Operation["method"], path: string];

const MODULE_ROUTES: readonly Route[] = [
  ["ListPrivateModules", "GET", ""],
  ["CreatePrivateModule", "POST", ""],
  ["DeletePrivateModule", "DELETE", "/:module_name"],
  ["ShowPrivateModuleMetadata", "GET", "/:module_name/metadata"],
  ["UpdatePrivateModuleMetadata", "PATCH", "/:module_name/metadata"],
  ["ListPrivateModuleVersions", "GET", "/:module_name/versions"],
  ["CreatePrivateModuleVersion", "POST", "/:module_name/versions"],
  ["DeletePrivateModuleVersion", "DELETE", "/:module_name/versions/:module_version"],
  ["ShowPrivateModuleVersionContent", "GET", "/:module_name/versions/:module_version"],
  ["ShowPrivateModuleVersionMetadata", "GET", "/:module_name/versions/:module_version/metadata"],
];

const HOOK_ROUTES: readonly Route[] = [
  ["ListPrivateHooks", "GET", ""],
  ["CreatePrivateHook", "POST", ""],
  ["DeletePrivateHook", "DELETE", "/:hook_name"],
  ["ShowPrivateHookMetadata", "GET", "/:hook_name/metadata"],
  ["UpdatePrivateHookMetadata", "PATCH", "/:hook_name/metadata"],
  ["ListPrivateHookVersions", "GET", "/:hook_name/versions"],
  ["CreatePrivateHookVersion", "POST", "/:hook_name/versions"],
  ["DeletePrivateHookVersion", "DELETE", "/:hook_name/versions/:hook_version"],
  ["ShowPrivateHookVersionMetadata", "GET", "/:hook_name/versions/:hook_version/metadata"],
  ["ShowPrivateHookVersionPolicy", "GET", "/:hook_name/versions/:hook_version/policies"],
];

/** The operations of the service that this server has something else for. A caller that is known learns what that is. */
export const NOT_OFFERED_OPERATIONS: readonly Operation[] = [
  ...MODULE_ROUTES.map((route) => refused("/private-modules", route, MODULES)),
  ...HOOK_ROUTES.map((route) => refused("/private-hooks", route, HOOKS)),
];

function refused(prefix: string, [name, method, path]: Route, reason: string): Operation {
  return {
    name,
    method,
    path: `${prefix}${path}`,
    scope: "account",
    access: "viewer",
    status: 200,
    hasBody: false,
    async run() {
      throw new RfsStacksError("RFS_NOT_OFFERED", `this server does not offer ${reason}`);
    },
  };
}
