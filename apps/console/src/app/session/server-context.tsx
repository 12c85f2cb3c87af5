import type { ServerClient } from "@stackwright/client";
import { createContext, use } from "react";
import type { StackStore } from "../live/stack-store.ts";
import type { OpenedCode } from "./opened-code.ts";
import type { RegistryApi } from "./registry-api.ts";

/** What pages read and write: the server as the signed-in credential sees it. */
interface ServerContextValue {
  readonly client: ServerClient;
  readonly registry: RegistryApi;
  readonly stacks: StackStore;
  /** Opens the stream of stacks again after the server refused it. */
  readonly followAgain: () => void;
  /** The code of an address that the tab was led to. */
  readonly opened: OpenedCode;
  readonly caller: CallerView;
  readonly signOut: () => void;
}

/** Who is signed in. */
interface CallerView {
  readonly actor: string;
  readonly account: string;
  readonly roles: readonly string[];
  readonly projects: readonly string[];
  readonly user?: string | undefined;
  readonly project_roles?: Readonly<Record<string, unknown>> | undefined;
}

export const ServerContext = createContext<ServerContextValue | undefined>(undefined);

export function useServer(): ServerContextValue {
  const value = use(ServerContext);
  if (value === undefined) throw new Error("no server: the page is outside of a session");
  return value;
}

/** Whether the caller has a role, in a project or for what belongs to none: higher ones include lower ones. */
export function mayDo(
  { roles, project_roles: projectRoles = {} }: CallerView,
  needed: "planner" | "deployer" | "publisher" | "admin",
  project?: string,
): boolean {
  const enough: Readonly<Record<typeof needed, readonly string[]>> = {
    planner: ["planner", "registry:deployer", "registry:publisher", "registry:admin", "site-admin"],
    deployer: ["registry:deployer", "registry:publisher", "registry:admin", "site-admin"],
    publisher: ["registry:publisher", "registry:admin", "site-admin"],
    admin: ["registry:admin", "site-admin"],
  };
  const there = project === undefined ? undefined : projectRoles[project];
  const all: readonly unknown[] = [...roles, ...(Array.isArray(there) ? there : [])];
  return all.some((role) => typeof role === "string" && enough[needed].includes(role));
}

/** Whether the caller administers the account, rather than some projects. */
export function isAccountAdmin(caller: CallerView): boolean {
  return caller.projects.length === 0 && mayDo(caller, "admin");
}

/** Whether the caller administers the server with all of its accounts. */
export function isSiteAdmin(caller: CallerView): boolean {
  return isAccountAdmin(caller) && caller.roles.includes("site-admin");
}
