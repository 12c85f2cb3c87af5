import { type ResourceObject, related } from "../json-api/document.ts";
import type { TfeSetName, TfeVariable, TfeVariableName } from "../port/variable-port.ts";
import { workspaceId } from "../workspace-id.ts";
import { opaqueId } from "./opaque-id.ts";

/** What ids of variables are made of: what the server knows a workspace by, or the id of a set. */
export type OwnerId = `ws-${string}` | `varset-${string}`;

export function setIdOf(account: string, { project = "", name }: TfeSetName): OwnerId {
  return opaqueId("varset", account, project, name) as OwnerId;
}

export function variableIdOf(owner: OwnerId, { category, key }: TfeVariableName): string {
  return opaqueId("var", owner, category, key);
}

/** A variable as clients read it: they take the id of its owner out of it. */
export function variableResource(owner: OwnerId, variable: TfeVariable): ResourceObject {
  const { key, value, category, sensitive, description } = variable;
  return {
    id: variableIdOf(owner, variable),
    type: "vars",
    attributes: { key, value: value ?? null, category, sensitive, hcl: false, description },
    relationships: owner.startsWith("ws-")
      ? { configurable: related("workspaces", workspaceId(owner.slice("ws-".length))) }
      : { varset: related("varsets", owner) },
  };
}
