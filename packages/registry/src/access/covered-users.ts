import { RegistryError } from "../errors.ts";
import { type Principal, requireRole } from "./principal.ts";

/** What uses of versions name for a stack, given as PROJECT/STACK; undefined where there is no such stack. */
export type UserOfStack = (account: string, stack: string) => Promise<string | undefined>;

/** Whether a caller may see a use, or record and release it, by what uses the version. */
type CoversUser = (user: string) => boolean;

/**
 * Of which users a caller may see and change the uses: without limits of all; with a list of stacks of these alone; with a list of projects of
 * their stacks. A stack of another account is none of these, whatever its project is called.
 *
 * @param userOfStack without it no use is one of a stack that a caller is limited to
 */
export async function coveredUsers(
  { account, projects, stacks = [] }: Principal,
  userOfStack: UserOfStack = async () => undefined,
): Promise<CoversUser> {
  const isInProjects = (user: string): boolean => {
    if (projects.length === 0) return true;
    const [owner, project, stack, ...more] = user.split("/");
    const isStack = project !== undefined && stack !== undefined && more.length === 0;
    return owner === account && isStack && projects.includes(project);
  };
  if (stacks.length === 0) return isInProjects;
  const own = new Set(await Promise.all(stacks.map(async (one) => userOfStack(account, one))));
  return (user) => own.has(user) && isInProjects(user);
}

/**
 * Throws `REGISTRY_FORBIDDEN` for credentials that may not record or release a use in the name of `user`: uses decide
 * whether a version can be deleted. Whether there is such a stack makes no difference, so the answer says nothing of it.
 */
export async function requireUser(
  principal: Principal,
  user: string,
  userOfStack?: UserOfStack,
): Promise<void> {
  requireRole(principal, "deployer");
  const covers = await coveredUsers(principal, userOfStack);
  if (covers(user)) return;
  const { account, actor, projects, stacks = [] } = principal;
  const limits =
    stacks.length > 0
      ? `the stacks ${stacks.join(", ")}`
      : `the projects ${projects.join(", ")}; it may record uses as ${account}/project/stack of these`;
  throw new RegistryError("REGISTRY_FORBIDDEN", `${actor} is limited to ${limits}`, {
    details: { needed: ["deployer"] },
  });
}
