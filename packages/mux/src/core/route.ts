import { MuxError } from "../errors.ts";
import type { DispatchTable } from "./dispatch-table.ts";
import { typeOfUrn } from "./urn.ts";

/** Methods that go to one server, by what names it in the request. */
export type ResourceMethod = "Check" | "Diff" | "Create" | "Read" | "Update" | "Delete";
export type FunctionMethod = "Invoke" | "StreamInvoke" | "Call";
export type DispatchedMethod = ResourceMethod | FunctionMethod | "List" | "Construct";

/** A table that can be asked; both the plain one and one that changes while calls run. */
export type Routes = Pick<DispatchTable, "resources" | "functions" | "listResources">;

/** The server for a resource operation. `MUX_URN_INVALID`, `MUX_TOKEN_UNKNOWN`. */
export function routeUrn(routes: Routes, urn: string): number {
  const type = typeOfUrn(urn);
  if (type === undefined) throw new MuxError("MUX_URN_INVALID", `URN '${urn}' is not valid`);
  return found(routes.resources, type, `Resource type '${type}' not found.`);
}

/** The server for a method that carries a token itself. `MUX_TOKEN_UNKNOWN`, `MUX_NOT_LISTABLE`. */
export function routeToken(
  routes: Routes,
  method: FunctionMethod | "List" | "Construct",
  token: string,
): number {
  switch (method) {
    case "Construct":
      return found(routes.resources, token, `Component Resource type '${token}' does not exist.`);
    case "Invoke":
    case "StreamInvoke":
      return found(routes.functions, token, `${method} '${token}' not found.`);
    case "Call":
      return found(routes.functions, token, `Resource Method '${token}' not found.`);
    case "List": {
      const server = (routes.listResources ?? routes.resources).get(token);
      if (server !== undefined) return server;
      const message = `Resource type '${token}' is not listable.`;
      throw new MuxError("MUX_NOT_LISTABLE", message, { token });
    }
    default:
      return method satisfies never;
  }
}

function found(owners: ReadonlyMap<string, number>, token: string, message: string): number {
  const server = owners.get(token);
  if (server === undefined) throw new MuxError("MUX_TOKEN_UNKNOWN", message, { token });
  return server;
}
