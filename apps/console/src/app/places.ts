import { isAccountAdmin, isSiteAdmin, mayDo, type useServer } from "./session/server-context.tsx";

/** A page that every other page leads to. */
export interface Place {
  readonly to: string;
  readonly label: string;
  /** Other pages are below its address, and are not it. */
  readonly exact?: boolean;
  /** Where the pages of its parts are, if not below its own address. */
  readonly parts?: string;
}

type Caller = ReturnType<typeof useServer>["caller"];

/** The pages that a caller may open, those first that have room everywhere. */
export function placesFor(caller: Caller): readonly Place[] {
  return [
    { to: "/", label: "Overview", exact: true },
    { to: "/projects", label: "Projects", parts: "/p" },
    { to: "/drift", label: "Drift" },
    { to: "/graph", label: "Graph" },
    { to: "/registry", label: "Registry" },
    { to: "/policies", label: "Policies" },
    { to: "/tools", label: "Tools" },
    { to: "/identity", label: "Identity of runs" },
    { to: "/frozen", label: "Frozen" },
    ...(mayDo(caller, "admin") ? [{ to: "/audit", label: "Audit" }] : []),
    ...(isAccountAdmin(caller) ? [{ to: "/access", label: "Access" }] : []),
    { to: "/settings", label: "Settings" },
  ];
}

/** The pages below the settings, which have no entry in the navigation. */
export function placesInSettings(caller: Caller): readonly Place[] {
  return [
    { to: "/settings/variable-sets", label: "Variable sets" },
    ...(isSiteAdmin(caller) ? [{ to: "/settings/accounts", label: "Accounts" }] : []),
    ...(isAccountAdmin(caller)
      ? [{ to: `/settings/accounts/${caller.account}`, label: `Account ${caller.account}` }]
      : []),
  ];
}

/** Places of a bar that is as wide as a telephone; the others are behind "More". */
export const PLACES_IN_BAR = 4;

/** Whether a page is a place, or below it. */
export function isAt({ to, exact = false, parts }: Place, path: string): boolean {
  if (path === to || (!exact && path.startsWith(`${to}/`))) return true;
  return parts !== undefined && path.startsWith(`${parts}/`);
}
